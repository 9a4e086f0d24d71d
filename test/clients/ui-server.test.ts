import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import {
  act,
  activeServer,
  createServer,
  SERVERS,
  showServer,
  unboundServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const why = whyNoBrowser()
const HOST = 'OS-EXT-SRV-ATTR:host'
const DARK_PHONE = { width: 390, height: 844, scheme: 'dark' } as const
const DESK = { width: 1_200, height: 900, scheme: 'light' } as const

describe.skipIf(why !== undefined || !isFullRun)('what the page shows of a server', () => {
  let cloud: Cloud
  let visit: UiVisit
  let id: string

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
    visit = await UiVisit.start(cloud)
    const changes = { name: 'shown', metadata: { purpose: 'to be seen' } }
    id = (await unboundServer(cloud, cloud.as('demo'), 'north', changes)).id
    await visit.signIn('admin')
  })

  afterAll(async () => {
    await visit?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  const within = (label: string, texts: readonly string[]) =>
    visit.browser.until(
      `${texts.join(', ')} in ${label}`,
      `(() => {
        const text = document.querySelector('[aria-label="${label}"]')?.textContent ?? ''
        return ${JSON.stringify(texts)}.every((each) => text.includes(each))
      })()`,
    )
  const keepBoth = async (name: string) => {
    await visit.keep(name)
    await visit.browser.showAs(DARK_PHONE)
    await visit.keep(`${name}-phone`)
    await visit.browser.showAs(DESK)
  }

  test('its actions, states, migrations and places in one timeline, the newest first', async () => {
    const admin = cloud.as('admin')
    const from = String((await showServer(admin, id))[HOST])
    const move = { 'os-migrateLive': { host: null, block_migration: 'auto' } }
    expect((await act(admin, id, move, { version: '2.30' })).status).toBe(202)
    await waitFor(
      'the move',
      async () => (await showServer(admin, id))[HOST] !== from && 'moved',
      60_000,
    )
    await untilStatus(admin, id, 'ACTIVE')
    const to = String((await showServer(admin, id))[HOST])
    await visit.go(`#/servers/${id}`, 'Server shown')
    await within('Timeline', [
      'Cell chosen (attempt 1): north',
      `Host in cell north chosen (attempt 1): ${from}`,
      'compute__do_build_and_run_instance success',
      'is active, power running',
      `live-migration from ${from} to ${to}: completed`,
    ])
    const times = (await visit.browser.value(
      `[...document.querySelectorAll('.timeline > li > time')].map(({ dateTime }) => Date.parse(dateTime))`,
    )) as readonly number[]
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    await visit.untilText('purpose = to be seen')
    await visit.untilText('Choice of a cell: north')
    await keepBoth('ui-server-timeline')
  })

  test('its console log, when it is asked for', async () => {
    expect(await visit.text()).not.toContain('Read it again')
    await visit.browser.value(
      `[...document.querySelectorAll('summary')].find((each) => each.textContent === 'Console log').click()`,
    )
    await within('Console log', ['fake-guest: boot step 40 of 40'])
    await visit.untilText(`openstack console log show --lines 100 ${id}`)
    await visit.keep('ui-server-console')
  })

  test('it is found by its name, id and address, and by the request that made it', async () => {
    const demo = cloud.as('demo')
    const server = await showServer(demo, id)
    const [{ addr } = { addr: '' }] = Object.values(
      server['addresses'] as Readonly<Record<string, readonly { readonly addr: string }[]>>,
    ).flat()
    const { body } = await demo.get<{ instanceActions: readonly { request_id: string }[] }>(
      `${SERVERS}/${id}/os-instance-actions`,
    )
    const request = body.instanceActions.at(-1)!.request_id
    for (const [text, hash] of [
      ['show', '#/servers?name=show'],
      [id, `#/servers/${id}`],
      [addr, `#/servers?ip=${addr}`],
      [request, `#/events?request=${request}`],
    ]) {
      await visit.go('#/operations', 'Operations')
      await visit.fill('text', text!)
      await visit.click('Find')
      await visit.browser.until(hash!, `location.hash === ${JSON.stringify(hash)}`)
      await visit.untilText('shown')
    }
  })

  test('it is a square of its host, which leads to it', async () => {
    const { body } = await cloud
      .as('admin')
      .get<{ hosts: readonly { id: string; name: string }[] }>('/federation/v1/hosts')
    const name = String((await showServer(cloud.as('admin'), id))[HOST])
    await visit.go(`#/hosts/${body.hosts.find((host) => host.name === name)!.id}`, `Host ${name}`)
    await visit.browser.until(
      'the square',
      `document.querySelector('.square.server.good')?.getAttribute('aria-label') === 'shown: ACTIVE'`,
    )
    await keepBoth('ui-host')
    await visit.browser.value(`document.querySelector('.square.server').click()`)
    await visit.browser.until('the server', `location.hash === '#/servers/${id}'`)
  })

  test('the strip of facts counts servers by status, failed boots and what waits', async () => {
    const admin = cloud.as('admin')
    const flavor = { name: 'vast', vcpus: 1, ram: 64, disk: 1_000_000 }
    const made = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
    const failed = await createServer(cloud, cloud.as('demo'), {
      flavorRef: made.body.flavor.id,
    })
    await untilStatus(cloud.as('demo'), failed, 'ERROR')
    await visit.go('#/', 'Federation')
    const facts = `[...document.querySelectorAll('.facts > div')].map((each) => each.textContent)`
    for (const fact of ['Servers21 ACTIVE1 ERROR', 'Failed boots in an hour1', 'Intents0'])
      await visit.browser.until(fact, `${facts}.includes('${fact}')`)
    await keepBoth('ui-facts')
  })

  test('events are chosen by server, cell, host and request', async () => {
    const other = await activeServer(cloud, cloud.as('demo'), {
      name: 'other',
      availability_zone: 'south',
    })
    await visit.go('#/events', 'Events')
    await visit.untilText('other')
    const shown = `[...document.querySelectorAll('.events > li')].map((each) => each.textContent)`
    const only = (name: string, not: string) =>
      visit.browser.until(
        `events of ${name} alone`,
        `${shown}.length > 0 && ${shown}.some((text) => text.includes('${name}')) && !${shown}.some((text) => text.includes('${not}'))`,
      )
    await visit.fill('server', other.id)
    await only('other', 'shown')
    expect(await visit.browser.value('location.hash')).toBe(`#/events?server=${other.id}`)
    await visit.fill('server', '')
    await visit.fill('cell', 'north')
    await only('shown', 'other')
    await visit.keep('ui-events-filtered')
  })

  test('what waits for a cell that is away, and cancels it', async () => {
    const { processes } = cloud.cell('north')
    for (const process of processes) await process.kill()
    const demo = cloud.as('demo')
    await waitFor(
      'an intent',
      async () => {
        await act(demo, id, { 'os-stop': null })
        const { body } = await demo.get<{ intents: readonly object[] }>('/federation/v1/intents')
        return body.intents.length === 1
      },
      60_000,
    )
    await visit.go(`#/servers/${id}`, 'Server shown')
    await visit.untilText('This waits for the cell: stop')
    await visit.go('#/intents', 'Intents')
    await within('The oldest first', ['stop', 'north'])
    await visit.untilText('./weir intent cancel ')
    await keepBoth('ui-intents')
    await visit.click('Cancel')
    await visit.untilText('Nothing waits for a cell.')
    const { body } = await demo.get<{ intents: readonly object[] }>('/federation/v1/intents')
    expect(body.intents).toEqual([])
  })
})
