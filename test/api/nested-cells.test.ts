import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { StubCloud } from '../env/stub-cloud.ts'

// Goal: an operator sees the cells of a nested cloud, or why not.

interface Answer {
  readonly hidden: string | null
  readonly count: number
  readonly cells: readonly { readonly name: string; readonly state: string }[]
}

const owned = new AsyncDisposableStack()
let parent: Cloud
let child: Cloud
/** The hosts of the parent: the child with an ordinary account, with an administrator's, and an OpenStack. */
let hosts: Readonly<Record<'ordinary' | 'administrator' | 'openstack', DrivenHost>>

beforeAll(async () => {
  parent = owned.use(await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 }))
  child = owned.use(await startCloud({ gateways: 1, cells: 2, processesPerCell: 1 }))
  const openstack = owned.use(await StubCloud.start())
  const { user, password, project } = child.foundation.accounts.admin
  const ordinary = nestedSettingsFor(child)
  const start = async (settings: Readonly<Record<string, string>>) =>
    owned.use(await startDrivenHost(parent, 'nested', settings))
  hosts = {
    ordinary: await start(ordinary),
    administrator: await start({ ...ordinary, user, password, project }),
    openstack: await start({
      ...{ auth_url: openstack.url, projects: 'any', networks: '127.0.0.0/8', allow_http: 'true' },
      ...{ application_credential_id: 'id', application_credential_secret: 'secret' },
    }),
  }
})

afterAll(() => owned.disposeAsync())

const cellsOf = (id: string) => parent.as('admin').get<Answer>(`/federation/v1/hosts/${id}/cells`)

test('an administrator’s account there shows its cells, as they are now', async () => {
  const { status, body } = await cellsOf(hosts.administrator.id)

  expect(status).toBe(200)
  expect(body).toMatchObject({ hidden: null, count: 2 })
  expect(body.cells).toMatchObject([
    { name: 'north', state: 'up', servers: 0, hosts: 2, hosts_up: 2, memory_mb_used: 0 },
    { name: 'south', state: 'up' },
  ])
  const change = { is_enabled: false, disabled_reason: 'a new switch' }
  await child.as('admin').call('PATCH', '/federation/v1/cells/north', change)
  expect((await cellsOf(hosts.administrator.id)).body.cells[0]).toMatchObject({ state: 'disabled' })
})

test('an ordinary account there, and an OpenStack, show none, and the answer says which it is', async () => {
  const none = { count: 0, cells: [] }
  expect((await cellsOf(hosts.ordinary.id)).body).toEqual({ hidden: 'not-allowed', ...none })
  expect((await cellsOf(hosts.openstack.id)).body).toEqual({ hidden: 'no-weir', ...none })
})

test('a host that is no cloud, and a cloud that does not answer, are refused', async () => {
  const admin = parent.as('admin')
  const plain = parent.hosts[0]!
  const path = `/federation/v1/hosts/${plain.id}/cells`
  const refused = await admin.get<{ detail: string }>(path)
  expect(refused).toMatchObject({
    status: 409,
    body: { detail: `Host ${plain.name} (fake) is no cloud and has no cells.` },
  })
  expect((await parent.as('demo').get(path)).status).toBe(403)

  await child.gateways[0]!.stop()
  expect((await cellsOf(hosts.administrator.id)).status).toBe(503)
})
