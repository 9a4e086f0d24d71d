import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeServer, SERVERS } from '#test/env/api/servers.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { storesReported } from '#test/env/stores-reported.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const why = whyNoBrowser()

describe.skipIf(why !== undefined || !isFullRun)('the page at /ui in a browser', () => {
  let cloud: Cloud
  let visit: UiVisit
  let id: string

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
    visit = await UiVisit.start(cloud)
    await storesReported(cloud)
    id = (await activeServer(cloud, cloud.as('demo'), { name: 'shown' })).id
  })

  afterAll(async () => {
    await visit?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  test('an operator sees why a volume is where it is', async () => {
    const made = await cloud
      .as('demo')
      .post('/volume/v3/volumes', { volume: { size: 1, name: 'placed' } })
    const { id: volume } = made.body['volume'] as { id: string }
    await visit.signIn('admin')
    await visit.go('#/volumes', 'Volumes')
    await visit.untilText('placed')
    await visit.go(`#/volumes/${volume}`, 'Volume placed')
    await visit.untilText('Choice of a store in')
    await visit.untilText('openstack volume delete')
    await visit.keep('ui-volume')
    expect(visit.browser.complaints).toEqual([])
    await cloud.as('demo').delete(`/volume/v3/volumes/${volume}`)
    await visit.signOut()
  })

  test('an operator sees the federation, its cells, hosts and servers', async () => {
    await visit.signIn('admin')
    await visit.untilText('Cells reachable')
    await visit.untilText('2 of 2')
    await visit.keep('ui-overview')
    await visit.go('#/cells/north', 'Cell north')
    await visit.untilText('north-1')
    await visit.keep('ui-cell')
    await visit.go('#/servers', 'Servers')
    await visit.untilText('shown')
    await visit.go(`#/servers/${id}`, 'Server shown')
    await visit.untilText('Choice of a cell')
    await visit.untilText('compute__do_build_and_run_instance')
    await visit.keep('ui-server')
    await visit.go('#/create', 'Create')
    await visit.untilText('To host ')
    await visit.keep('ui-create')
    expect(visit.browser.complaints).toEqual([])
    await visit.signOut()
  })

  test('a user of a project sees its servers, stops one, and nothing of the federation', async () => {
    await visit.signIn('demo')
    await visit.untilText('shown')
    expect(await visit.text()).not.toContain('Overview')
    await visit.go(`#/servers/${id}/move`, 'There is no such view')
    await visit.go(`#/servers/${id}`, 'Server shown')
    await visit.untilText('Reboot')
    await visit.untilText('It has no volume.')
    await visit.untilText('fa:16:3e:')
    await visit.click('Stop')
    await visit.untilText('SHUTOFF')
    await visit.go('#/volumes', 'Volumes')
    await visit.untilText('There is no volume.')
    await visit.fill('name', 'made here')
    await visit.untilText("openstack volume create --size 1 'made here'")
    await visit.click('Create')
    await visit.untilText('available')
    await visit.keep('ui-volumes')
    await visit.go('#/events', 'Events')
    await visit.untilText('server.state')
    // It comes by the stream: the page was open before.
    const started = await cloud.as('demo').post(`${SERVERS}/${id}/action`, { 'os-start': null })
    expect(started.status).toBe(202)
    await visit.untilText('compute_start_instance')
    await visit.keep('ui-events')
    expect(visit.browser.complaints).toEqual([])
    await visit.signOut()
  })
})
