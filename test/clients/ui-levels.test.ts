import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAdminNested } from '#test/env/admin-nested.ts'
import { activeServer } from '#test/env/api/servers.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import type { DrivenHost } from '#test/env/driven-host.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const why = whyNoBrowser()
const PHONE = { width: 390, height: 844, scheme: 'dark' } as const
const DESK = { width: 1_200, height: 900, scheme: 'light' } as const

describe.skipIf(why !== undefined || !isFullRun)('the page, of clouds within clouds', () => {
  const owned = new AsyncDisposableStack()
  const clouds: Cloud[] = []
  /** Of each cloud but the last: the host that is the next one. */
  const hosts: DrivenHost[] = []
  let visit: UiVisit

  beforeAll(async () => {
    const small = { gateways: 1, cells: 1, processesPerCell: 1 }
    for (const hostsPerCell of [1, 0, 1])
      clouds.push(owned.use(await startCloud({ ...small, hostsPerCell })))
    // The innermost first, so that each cloud has room once it is joined.
    for (const level of [1, 0])
      hosts.unshift(owned.use(await startAdminNested(clouds[level]!, clouds[level + 1]!)))
    visit = owned.use(await UiVisit.start(clouds[0]!))
    await visit.signIn('admin')
  })

  afterAll(() => owned.disposeAsync())

  /** Of the group with this label within the whole page or an element: the texts of what it has directly. */
  const drawnIn = (...labels: readonly string[]) => {
    const selector = labels.map((label) => `[aria-label="${label}"]`).join(' ')
    return visit.browser.value(
      `[...document.querySelectorAll('${selector} > .tile > :is(a, strong)')].map((a) => a.textContent)`,
    )
  }

  test('draws the cells of every level inside their parent', async () => {
    const [middle, bottom] = hosts
    const { id } = await activeServer(clouds[2]!, clouds[2]!.as('demo'), { name: 'deep' })
    expect(id).toBeDefined()
    // A view that is opened asks at once.
    await visit.go('#/servers', 'Servers')
    await visit.go('#/', 'Federation')
    const cells = [`Cells of ${middle!.name}`, `Cells of ${bottom!.name}`]
    await visit.browser.until(
      'the cells of the third cloud',
      `document.querySelector('[aria-label="${cells[0]}"] [aria-label="${cells[1]}"]')?.textContent.includes('1 server,') === true`,
    )
    expect(await drawnIn('Clouds nested in north', cells[0]!, 'Clouds nested in north')).toEqual([
      bottom!.name,
    ])
    expect(await drawnIn(cells[0]!, 'Clouds nested in north', cells[1]!)).toEqual(['north'])
    for (const [name, looks] of Object.entries({ desk: DESK, phone: PHONE })) {
      await visit.browser.showAs(looks)
      await visit.keep(`ui-levels-${name}`)
      expect(
        await visit.browser.value('document.documentElement.scrollWidth > innerWidth'),
        name,
      ).toBe(false)
      const outside = `[...document.querySelectorAll('.tile .tile')].filter((tile) => {
        const [inner, outer] = [tile, tile.parentElement.closest('.tile')].map((each) => each.getBoundingClientRect())
        return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom
      }).length`
      expect(await visit.browser.value(outside), name).toBe(0)
    }
    await visit.browser.showAs(DESK)
  })

  test('leads from a tile to what the cloud above says of the cloud, and to its cells', async () => {
    const [middle, bottom] = hosts
    await visit.browser.value(
      `[...document.querySelectorAll('a')].find((a) => a.textContent === '${bottom!.name}').click()`,
    )
    await visit.untilText(`Cloud ${bottom!.name}`)
    expect(await visit.browser.value('location.hash')).toBe(
      `#/hosts/${middle!.id}/cells?through=${bottom!.id}`,
    )
    await visit.browser.until(
      'its cell',
      `document.querySelector('tbody tr')?.textContent.startsWith('northup11 of 1') === true`,
    )
    await visit.untilText('north, of the cloud above')
    await visit.keep('ui-levels-cloud')
    await visit.browser.value(
      `[...document.querySelectorAll('a')].find((a) => a.textContent === 'cloud above').click()`,
    )
    await visit.untilText(`Host ${middle!.name}`)
    expect(visit.browser.complaints).toEqual([])
  })

  test('says what it does not know of a cloud that does not answer', async () => {
    await clouds[2]!.gateways[0]!.stop()
    await visit.go('#/servers', 'Servers')
    await visit.go('#/', 'Federation')
    await visit.untilText('Its cells are not known: ')
    await visit.keep('ui-levels-away')
  })
})
