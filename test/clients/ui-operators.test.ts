import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { startAdminNested } from '#test/env/admin-nested.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { endOfOperation, type Operation } from '#test/env/api/operations.ts'
import { activeServer, showServer, unboundServer, untilStatus } from '#test/env/api/servers.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { nestedSettingsFor } from '#test/env/nested-settings.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const why = whyNoBrowser()
const HOST = 'OS-EXT-SRV-ATTR:host'

describe.skipIf(why !== undefined || !isFullRun)('an operator, at the page', () => {
  const owned = new AsyncDisposableStack()
  let cloud: Cloud
  let visit: UiVisit
  let admin: ApiClient
  let demo: ApiClient

  beforeAll(async () => {
    cloud = owned.use(await startCloud({ gateways: 1, processesPerCell: 1 }))
    admin = cloud.as('admin')
    demo = cloud.as('demo')
    visit = owned.use(await UiVisit.start(cloud))
    await visit.signIn('admin')
  })

  afterAll(() => owned.disposeAsync())

  const hostOf = async (id: string) => String((await showServer(admin, id))[HOST])
  /** The operation whose page is shown. */
  async function shownOperation(): Promise<Operation> {
    await visit.browser.until('the operation', `location.hash.startsWith('#/operations/')`)
    const hash = String(await visit.browser.value('location.hash'))
    return endOfOperation(admin, hash.split('/').at(-1)!)
  }

  test('makes a placement policy, tries it, changes and deletes it', async () => {
    const label = { labels: { site: 'cloud' } }
    expect((await admin.call('PATCH', '/federation/v1/cells/south', label)).status).toBe(200)
    await visit.go('#/create-policy', 'Create a placement policy')
    await visit.fill('name', 'burst')
    await visit.fill('preference', 'site=cloud\n')
    await visit.fill('tolerations', 'dedicated=research:NoSchedule')
    await visit.fill('spread', 'cell of all')
    await visit.untilText("'cell of all' is not understood")
    await visit.fill('spread', 'cell:2')
    await visit.fill('limits', 'servers=9')
    await visit.fill('flavors', 'm1.tiny')
    await visit.untilText(
      './weir policy create burst --flavor m1.tiny --tolerate dedicated=research:NoSchedule --prefer site=cloud --spread cell:2 --limit servers=9',
    )
    await visit.click('Create')
    await visit.go('#/policies/burst', 'Placement policy burst')
    await visit.untilText('of cell south')
    await visit.untilText('Placement policy burst applied')
    await visit.keep('ui-policy')
    const path = '/federation/v1/placement-policies/burst'
    expect((await admin.get<Loose>(path)).body).toMatchObject({
      preference: [{ cells: [], labels: { site: 'cloud' } }],
      tolerations: [{ key: 'dedicated', value: 'research', effect: 'NoSchedule' }],
      spread: { over: 'cell', max_skew: 2, is_required: false },
      limits: { servers: 9 },
    })

    await visit.go('#/policies/burst/edit', 'Change placement policy burst')
    await visit.fill('description', 'to the cloud')
    await visit.fill('limits', '')
    await visit.untilText("./weir policy update burst --description 'to the cloud' --no-limit")
    await visit.click('Save')
    await visit.go('#/policies', 'Placement policies')
    await visit.untilText('to the cloud')
    expect((await admin.get<Loose>(path)).body).toMatchObject({ limits: null, flavors: ['1'] })
    await visit.go('#/policies/burst', 'Placement policy burst')
    await visit.click('Delete')
    await visit.untilText('There is no placement policy')
    expect((await admin.get(path)).status).toBe(404)
  })

  test('moves a server to another host while it runs, and then to another cell', async () => {
    const { id } = await unboundServer(cloud, demo, 'north', { name: 'mover' })
    const before = await hostOf(id)
    await visit.go(`#/servers/${id}/move`, 'Move server mover')
    await visit.untilText('of cell north')
    await visit.untilText('server migrate --live-migration')
    await visit.keep('ui-move')
    await visit.click('Move')
    await waitFor('the move', async () => (await hostOf(id)) !== before, 60_000)
    await untilStatus(demo, id, 'ACTIVE')

    await visit.go('#/', 'Federation')
    await visit.go(`#/servers/${id}/move`, 'Move server mover')
    await visit.fill('method', 'cell')
    await visit.fill('cell', 'south')
    await visit.untilText(`./weir server move ${id} --cell south`)
    await visit.untilText('of cell south')
    await visit.click('Move')
    expect(await shownOperation()).toMatchObject({ kind: 'server-move', state: 'done' })
    expect(await hostOf(id)).toMatch(/^south-/)
    await visit.untilText('done')
    await visit.keep('ui-operation')
  })

  test('moves a server that is off, and confirms the move', async () => {
    const { id } = await activeServer(cloud, demo, { name: 'cold', availability_zone: 'south' })
    const before = await hostOf(id)
    const other = before === 'south-1' ? 'south-2' : 'south-1'
    await visit.go(`#/servers/${id}/move`, 'Move server cold')
    await visit.fill('method', 'cold')
    await visit.fill('host', other)
    await visit.untilText(`server migrate --host ${other} ${id}`)
    await visit.untilText(`To host ${other} of cell south`)
    await visit.click('Move')
    await untilStatus(demo, id, 'VERIFY_RESIZE')
    await visit.click('Confirm')
    await untilStatus(demo, id, 'ACTIVE')
    expect(await hostOf(id)).toBe(other)
  })

  test('drains a host, after seeing which servers are on it', async () => {
    const { id } = await activeServer(cloud, demo, { name: 'drained', availability_zone: 'south' })
    const name = await hostOf(id)
    const { body } = await admin.get<{ hosts: readonly { id: string; name: string }[] }>(
      '/federation/v1/hosts?cell=south',
    )
    const host = body.hosts.find((each) => each.name === name)!
    await visit.go(`#/hosts/${host.id}/drain`, `Drain host ${name}`)
    await visit.untilText('drained')
    await visit.fill('parallel', '5')
    await visit.untilText(`./weir host drain ${name} --cell south --parallel 5`)
    await visit.keep('ui-drain')
    await visit.click('Drain')
    expect(await shownOperation()).toMatchObject({ kind: 'host-drain', state: 'done' })
    expect(await hostOf(id)).not.toBe(name)
    await visit.go(`#/hosts/${host.id}`, `Host ${name}`)
    await visit.click('Uncordon')
    await visit.untilText('Cordon')
  })

  test('sees a nested cloud inside the cell that it belongs to', async () => {
    const child = owned.use(await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 }))
    const ordinary = nestedSettingsFor(child)
    const nested = owned.use(await startDrivenHost(cloud, 'nested', ordinary))
    const open = owned.use(await startAdminNested(cloud, child))
    await visit.go('#/', 'Federation')
    await visit.untilText(nested.name)
    await visit.untilText(open.name)
    const inside = `[...document.querySelectorAll('[aria-label="Clouds nested in north"] a')].map((a) => a.textContent).toSorted()`
    expect(await visit.browser.value(inside)).toEqual([nested.name, open.name].toSorted())
    // Its own cells, or why they are not drawn.
    await visit.untilText('Its cells are not shown')
    const within = `document.querySelector('[aria-label="Cells of ${open.name}"]')?.textContent`
    await visit.browser.until(
      'the cells of the cloud',
      `/^northup0 servers, 0 of \\d+ GiB$/.test(${within})`,
    )
    await visit.keep('ui-nested')
    await visit.go(`#/hosts/${open.id}`, `Host ${open.name}`)
    await visit.untilText('Cells of this cloud')
    await visit.untilText('2 of 2')
    await visit.go('#/', 'Federation')
    // The servers of further tests go elsewhere.
    for (const host of [nested, open]) {
      const path = `/federation/v1/hosts/${host.id}`
      expect((await admin.call('PATCH', path, { is_cordoned: true })).status).toBe(200)
      await host.stop()
    }
  })

  test('declares a cell lost and has its servers built again, after seeing from what', async () => {
    const { id } = await unboundServer(cloud, demo, 'north', { name: 'survivor' })
    await visit.go('#/cells/north/lost', 'Declare cell north lost')
    await visit.untilText('cannot be declared lost')
    const { processes, computes } = cloud.cell('north')
    for (const process of [...processes, ...computes.map((host) => host.process)])
      await process.kill()
    await visit.fill('statement', 'Its power was cut.')
    await visit.untilText("./weir cell lost north --stopped 'Its power was cut.' --yes")
    await visit.keep('ui-lost')
    await visit.click('Declare lost')
    await visit.go('#/cells/north/recover', 'Build the servers of cell north again')
    await waitFor(
      'the servers to be taken',
      async () => {
        await visit.fill('source', 'image')
        await visit.fill('source', 'snapshot')
        return (await visit.text()).includes('survivor')
      },
      60_000,
    )
    await visit.untilText('./weir cell recover north --from snapshot --parallel 10')
    await visit.keep('ui-recover')
    await visit.click('Build 1 server')
    expect(await shownOperation()).toMatchObject({ kind: 'cell-recovery', state: 'done' })
    await untilStatus(demo, id, 'ACTIVE')
    expect(await hostOf(id)).toMatch(/^south-/)
    // A view may ask once more for what was just deleted.
    const complaints = visit.browser.complaints.filter((text) => !text.includes('status of 404'))
    expect(complaints).toEqual([])
  })
})
