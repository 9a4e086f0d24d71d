import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { listen } from '#gateway/listen.ts'
import { identityWorld } from '#test/api/identity-world.ts'
import { type Federation, fillFederation } from '#test/bench/ui/fill-federation.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

// Goal: what the page asks for and draws does not grow with the federation. `npm run bench:ui` measures how fast it is.

const CELLS = 200
const SERVERS = 100_000
const FILL_LIMIT_MS = 900_000
/** Of the first cell, more than its page draws. */
const HOSTS = 1_200
const HOSTS_DRAWN = 1_000
const PAGE = 100
const EVENTS_KEPT = 200
/** What a view has besides the things that it is about. */
const FRAME_NODES = 250
const ANSWER_BYTES_MAX = 1_000_000
/** Lists that are whole: of cells, and those that count. */
const WHOLE = [
  '/federation/v1/cells',
  '/federation/v1/health',
  '/federation/v1/server-counts',
  '/ui/session/projects',
]

const why = whyNoBrowser()

describe.skipIf(why !== undefined || !isFullRun)(
  'the page of 200 cells with 100,000 servers',
  () => {
    const owned = new AsyncDisposableStack()
    let federation: Federation
    let visit: UiVisit

    beforeAll(async () => {
      const world = owned.use(await identityWorld())
      const { gateway } = await world.addGateway()
      const passwords = { adminPassword: world.passwords.admin, demoPassword: world.passwords.demo }
      await bootstrapIdentity(gateway.db, passwords)
      const { databaseUrl, natsUrl, natsCredentialsFile: credentialsFile } = gateway.config
      const site = {
        databaseUrl,
        natsUrl,
        credentialsFile: credentialsFile!,
        projectId: 'p'.repeat(32),
      }
      federation = await fillFederation(owned, site, { cells: CELLS, servers: SERVERS })
      const [cell] = federation.cells
      const hosts = Array.from({ length: HOSTS }, (_, nth) => sampleHost(`more-${nth}`))
      await gateway.db.transaction((tx) => applyHostViews(tx, cell!.id, hosts))
      const { port } = owned.use(await listen(gateway))
      const accounts = { admin: { user: 'admin', password: world.passwords.admin } }
      visit = owned.use(await UiVisit.at(`http://127.0.0.1:${port}`, accounts))
      await visit.signIn('admin')
    }, FILL_LIMIT_MS)

    afterAll(() => owned.disposeAsync())

    const count = async (selector: string) =>
      Number(await visit.browser.value(`document.querySelectorAll('${selector}').length`))
    const until = (selector: string, many: number) =>
      visit.browser.until(
        `${many} of ${selector}`,
        `document.querySelectorAll('${selector}').length === ${many}`,
      )

    test('the first view draws every cell once, and a few elements for each', async () => {
      await visit.go('#/', 'Federation')
      await until('.tile', CELLS)
      await visit.untilText('100,000')
      await visit.keep('ui-scale-overview')
      expect(await count('*')).toBeLessThan(5 * CELLS + FRAME_NODES)
    })

    test('servers are drawn a page at a time, and the page before goes', async () => {
      await visit.go('#/servers', 'Servers')
      await until('tbody tr', PAGE)
      const nodes = await count('*')
      expect(nodes).toBeLessThan(15 * PAGE + FRAME_NODES)
      for (const name of ['Page 2', 'Page 3']) {
        const first = await visit.browser.value(`document.querySelector('tbody a').href`)
        await visit.click('After')
        await visit.untilText(name)
        await visit.browser.until(
          'other servers',
          `document.querySelector('tbody a')?.href !== ${JSON.stringify(first)} && document.querySelectorAll('tbody tr').length === ${PAGE}`,
        )
        expect(await count('*')).toBe(nodes)
      }
    })

    test('a cell draws a bounded number of its hosts, and says so', async () => {
      await visit.go(`#/cells/${federation.cells[0]!.name}`, 'Cell')
      await until('.square', HOSTS_DRAWN)
      await visit.untilText(`Hosts: the first ${HOSTS_DRAWN}`)
      expect(await count('*')).toBeLessThan(15 * HOSTS_DRAWN + FRAME_NODES)
    })

    test('many events are drawn together, and the newest are kept', async () => {
      await visit.go('#/events', 'Events')
      await federation.change(1)
      await visit.browser.until('an event', `document.querySelectorAll('.events > li').length > 0`)
      // Each callback stands for all changes of the document by one drawing.
      await visit.browser.value(`(() => {
      window.seen = new Set()
      window.drawings = 0
      const begun = performance.now()
      new MutationObserver((records) => {
        const added = records.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node.tagName === 'LI')
        if (added.length === 0) return
        for (const node of added) window.seen.add(node)
        window.drawings += 1
        window.tookMs = performance.now() - begun
        window.mostNodes = Math.max(window.mostNodes ?? 0, document.querySelectorAll('.events > li').length)
      }).observe(document.querySelector('.events'), { childList: true })
    })()`)
      // A hundred a second, as fast as this machine writes them.
      const rounds = 60
      for (let round = 0; round < rounds; round += 1) await federation.change(10)
      await visit.browser.until('what was written', `window.seen.size >= ${EVENTS_KEPT}`)
      const { drawings, tookMs, mostNodes } = (await visit.browser.value(
        '({ drawings: window.drawings, tookMs: window.tookMs, mostNodes: window.mostNodes })',
      )) as { readonly drawings: number; readonly tookMs: number; readonly mostNodes: number }
      // Four drawings a second at most, however many events there are.
      expect(drawings).toBeLessThanOrEqual(Math.ceil(tookMs / 250) + 1)
      expect(drawings).toBeLessThan(10 * rounds)
      expect(mostNodes).toBe(EVENTS_KEPT)
    })

    test('no view asked for a list without a limit, or got a long answer', async () => {
      const asked = visit.browser.requested
        .map((url) => new URL(url))
        .filter(({ pathname }) =>
          /^\/(?:federation|compute|volume|image|networking|identity|ui\/session)\b/.test(pathname),
        )
      expect(asked.length).toBeGreaterThan(10)
      const unbounded = asked.filter(({ pathname, searchParams }) => {
        const isOne = /\/cells\/[^/]+$|\/events$|\/ui\/session$/.test(pathname)
        return (
          !isOne &&
          !WHOLE.includes(pathname) &&
          !(Number(searchParams.get('limit')) <= HOSTS_DRAWN && searchParams.has('limit'))
        )
      })
      expect(unbounded.map(({ href }) => href)).toEqual([])
      const longest = await visit.browser.value(
        `Math.max(...performance.getEntriesByType('resource').map(({ decodedBodySize }) => decodedBodySize))`,
      )
      expect(Number(longest)).toBeLessThan(ANSWER_BYTES_MAX)
      expect(visit.browser.complaints).toEqual([])
    })
  },
)
