import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '#drivers/fake/faults.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { createServer, SERVERS, showServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: operators see the reason of a driver's failure wherever it is shown, and users never see it.

const MESSAGE = 'The disk is not there.'
const DETAIL = 'iscsi error 17'
const REASON = `${MESSAGE} (${DETAIL})`

interface Action {
  readonly action: string
  readonly request_id: string
  readonly message: string | null
  readonly events?: readonly { readonly result: string | null; readonly details?: string | null }[]
}

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient
let operator: WeirCommand

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  operator = new WeirCommand(cloud, 'admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

function failAt(method: Fault['method']): void {
  const effect = { do: 'fail', kind: 'internal', message: MESSAGE, detail: DETAIL } as const
  cloud.hosts[0]!.fail({ method, effect })
}

/** The server's action of this name as this client sees it, once one of its events has failed. */
async function failedAction(client: ApiClient, id: string, name: string): Promise<Action> {
  const path = `${SERVERS}/${id}/os-instance-actions`
  const find = async () => {
    const { body } = await client.get<{ instanceActions: readonly Action[] }>(path)
    return body.instanceActions.find(({ action, message }) => action === name && message !== null)
  }
  await expect.poll(find).toBeDefined()
  const { request_id } = (await find())!
  const { body } = await client.get<{ instanceAction: Action }>(`${path}/${request_id}`, {
    version: '2.84',
  })
  return body.instanceAction
}

/** Operators have the reason in the server's actions, its events and its decisions; its user has that it failed. */
async function expectReported(id: string, name: string): Promise<void> {
  const action = await failedAction(admin, id, name)
  expect(action.message).toBe('Error')
  expect(action.events?.map(({ details }) => details).join()).toContain(REASON)
  for (const line of [`why ${id}`, `events --server ${id}`, `server events ${id}`])
    await expect.poll(async () => (await operator.run(line)).out).toContain(REASON)

  const seen = await failedAction(demo, id, name)
  expect(seen.events?.map(({ result }) => result)).toContain('Error')
  const events = await demo.get(`/federation/v1/events?server=${id}`)
  for (const what of [seen, await showServer(demo, id), events.body])
    for (const secret of [MESSAGE, DETAIL]) expect(JSON.stringify(what)).not.toContain(secret)
}

describe('why a driver', () => {
  test('could not build a server', async () => {
    failAt('spawn')
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ERROR')

    await expectReported(id, 'create')
    expect(await showServer(admin, id)).toMatchObject({
      fault: { code: 500, details: expect.stringContaining(REASON) },
    })
    expect((await showServer(demo, id)).fault?.message).toMatch(/^No valid host was found/)
  })

  test.each([
    ['start', 'SHUTOFF', { 'os-start': null }, 'SHUTOFF'],
    ['reboot', 'ACTIVE', { reboot: { type: 'HARD' } }, 'ACTIVE'],
    ['resize', 'ACTIVE', 'resize', 'ACTIVE'],
    ['rebuild', 'ACTIVE', 'rebuild', 'ERROR'],
  ] as const)('could not %s a server that is %s', async (method, from, what, status) => {
    cloud.hosts[0]!.fail()
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    const act = (body: object) => demo.post(`${SERVERS}/${id}/action`, body)
    if (from === 'SHUTOFF') await act({ 'os-stop': null })
    await untilStatus(demo, id, from)
    failAt(method)
    const { image: imageRef, small: flavorRef } = cloud.catalog
    const bodies = { resize: { resize: { flavorRef } }, rebuild: { rebuild: { imageRef } } }

    const { status: answered } = await act(typeof what === 'string' ? bodies[what] : what)

    expect(answered).toBe(202)
    await expectReported(id, method)
    await untilStatus(demo, id, status)
    if (status !== 'ERROR') return
    expect(await showServer(admin, id)).toMatchObject({ fault: { details: REASON } })
    expect((await showServer(demo, id)).fault).toMatchObject({
      message: "The action 'rebuild' failed.",
    })
  })

  test('could not delete a server, which it is asked to until it has', async () => {
    cloud.hosts[0]!.fail()
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    failAt('destroy')

    await demo.delete(`${SERVERS}/${id}`)

    await expectReported(id, 'delete')
    await untilStatus(demo, id, 'ERROR')
    expect(await showServer(admin, id)).toMatchObject({
      'OS-EXT-STS:task_state': 'deleting',
      fault: { message: "The action 'delete' failed.", details: REASON },
    })
    cloud.hosts[0]!.fail()
    await expect.poll(async () => (await demo.get(`${SERVERS}/${id}`)).status).toBe(404)
  })
})

test('a build that no host is left for has failed in its server’s actions, with the reason', async () => {
  cloud.hosts[0]!.fail()
  await operator.json('host cordon north-1')
  const id = await createServer(cloud, demo)
  await untilStatus(demo, id, 'ERROR')

  const { message, events } = await failedAction(admin, id, 'create')

  expect(message).toBe('Error')
  const { fault } = (await showServer(admin, id)) as unknown as { fault: { details: string } }
  expect(events?.at(0)?.details).toBe(fault.details)
  expect((await operator.run(`server events ${id}`)).out).toContain(fault.details)
  await operator.json('host uncordon north-1')
})
