import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeServer, unboundServer } from '#test/env/api/servers.ts'
import { type Looks, whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { storesReported } from '#test/env/stores-reported.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const LOOKS: readonly (Looks & { readonly name: string })[] = [
  { name: 'light', width: 1_200, height: 900, scheme: 'light' },
  { name: 'dark', width: 1_200, height: 900, scheme: 'dark' },
  { name: 'phone', width: 390, height: 844, scheme: 'light' },
]
/** More stops than any view has. */
const TABS_MAX = 200

const why = whyNoBrowser()

describe.skipIf(why !== undefined || !isFullRun)('the page at /ui', () => {
  let cloud: Cloud
  let visit: UiVisit
  /** Address -> heading and text that is there once the view is complete. */
  let views: Readonly<Record<string, readonly [heading: string, text: string]>>

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
    visit = await UiVisit.start(cloud)
    await storesReported(cloud)
    const [demo, admin] = [cloud.as('demo'), cloud.as('admin')]
    const { id } = await activeServer(cloud, demo, { name: 'shown' })
    const drained = await unboundServer(cloud, demo, 'north', { name: 'drained' })
    const made = await demo.post('/volume/v3/volumes', { volume: { size: 1, name: 'data' } })
    const { id: volume } = made.body['volume'] as { id: string }
    await admin.post('/federation/v1/placement-policies', { name: 'burst', is_selectable: true })
    const moved = await admin.post<{ id: string }>(`/federation/v1/servers/${drained.id}/move`, {})
    const { body } = await admin.get<{ hosts: readonly { id: string }[] }>('/federation/v1/hosts')
    views = {
      '#/': ['Federation', 'Cells reachable'],
      '#/cells/north': ['Cell north', 'Hosts, as a table'],
      '#/cells/north/lost': ['Declare cell', 'cannot be declared lost'],
      '#/cells/north/recover': ['Build the servers', 'No server was taken'],
      [`#/hosts/${body.hosts[0]!.id}`]: ['Host', 'Drain it'],
      [`#/hosts/${body.hosts[0]!.id}/drain`]: ['Drain host', 'From the command line'],
      '#/servers': ['Servers', 'shown'],
      [`#/servers/${id}`]: ['Server shown', 'Choice of a cell'],
      [`#/servers/${id}/move`]: ['Move server', 'To host '],
      '#/volumes': ['Volumes', 'data'],
      [`#/volumes/${volume}`]: ['Volume', 'Choice of a store in'],
      '#/create': ['Create a server', 'To host '],
      '#/events': ['Events', 'server.state'],
      '#/operations': ['Operations', 'server-move'],
      '#/intents': ['Intents', 'Nothing waits for a cell.'],
      [`#/operations/${moved.body.id}`]: ['Operation', 'north'],
      '#/policies': ['Placement policies', 'burst'],
      '#/policies/burst': ['Placement policy', 'To host '],
      '#/policies/burst/edit': ['Change placement policy', 'Users may choose it'],
      '#/create-policy': ['Create a placement policy', 'Users may choose it'],
      '#/nowhere': ['There is no such view', ''],
    }
  })

  afterAll(async () => {
    await visit?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  /** What axe finds wrong in the page as it is shown now. */
  async function violations(): Promise<readonly string[]> {
    await visit.browser.value(AXE)
    const found = (await visit.browser.value(`axe.run().then(({ passes, violations }) => ({
      checked: passes.length,
      wrong: violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + '\\n' + failureSummary)),
    }))`)) as { readonly checked: number; readonly wrong: readonly string[] }
    expect(found.checked).toBeGreaterThan(10)
    return found.wrong
  }

  /** Presses Tab until it begins again; the page keeps in `seen` what was reached. */
  async function tabThrough(): Promise<void> {
    await visit.browser.value('document.activeElement.blur(); window.seen = new Set()')
    for (let nth = 0; nth < TABS_MAX; nth += 1) {
      await visit.browser.press('Tab')
      // Between the last thing and the first one the browser itself has the focus.
      const isAgain = await visit.browser.value(`(() => {
        const { activeElement, body } = document
        if (window.seen.has(activeElement)) return true
        if (activeElement !== body) window.seen.add(activeElement)
        return false
      })()`)
      if (isAgain === true) return
    }
    throw new Error(`Tab reached ${TABS_MAX} things and did not begin again.`)
  }

  test('axe finds nothing in any view, in light, dark and on a phone', async () => {
    await visit.browser.open(`${cloud.endpoints[0]}/ui`)
    await visit.untilText('Sign in to Weir')
    const found: string[] = []
    for (const looks of LOOKS) {
      await visit.browser.showAs(looks)
      for (const each of await violations()) found.push(`sign-in, ${looks.name}: ${each}`)
      await visit.keep(`axe-sign-in-${looks.name}`)
    }
    await visit.signIn('admin')
    for (const looks of LOOKS) {
      await visit.browser.showAs(looks)
      for (const [address, [heading, text]] of Object.entries(views)) {
        await visit.go(address, heading)
        await visit.untilText(text)
        for (const each of await violations()) found.push(`${address}, ${looks.name}: ${each}`)
        const isWide = await visit.browser.value(
          'document.documentElement.scrollWidth > innerWidth',
        )
        if (isWide === true) found.push(`${address}, ${looks.name}: it is wider than the window`)
        await visit.keep(
          `axe-${address.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id').replaceAll(/[^a-z-]+/g, '-')}-${looks.name}`,
        )
      }
    }
    expect(found).toEqual([])
    expect(visit.browser.complaints).toEqual([])
  })

  test('everything that can be clicked is reached by the Tab key', async () => {
    await visit.browser.showAs(LOOKS[0]!)
    for (const [address, [heading, text]] of Object.entries(views)) {
      await visit.go(address, heading)
      await visit.untilText(text)
      await tabThrough()
      const unreached =
        await visit.browser.value(`[...document.querySelectorAll('a, button, input, select, textarea, summary, [onclick]')]
        .filter((each) => each.checkVisibility() && !each.disabled && !window.seen.has(each))
        .map((each) => each.outerHTML)`)
      expect(unreached, address).toEqual([])
    }
  })

  test('the keyboard alone opens a view and begins an action', async () => {
    await visit.go('#/cells/north', 'Cell north')
    await visit.untilText('Hosts, as a table')
    await visit.browser.value(
      `[...document.querySelectorAll('button')].find((b) => b.textContent === 'Disable').focus()`,
    )
    await visit.browser.press('Enter')
    await visit.untilText('refused: no reason given')
    await visit.browser.value(`document.querySelector('nav a[href="#/servers"]').focus()`)
    await visit.browser.press('Enter')
    await visit.untilText('Flavor')
    // Screen readers and keyboards are taken to the heading of the new view.
    expect(await visit.browser.value('document.activeElement.tagName')).toBe('H1')
  })
})
