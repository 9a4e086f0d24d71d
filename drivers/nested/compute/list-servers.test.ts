import { expect, test } from 'vitest'
import type { Cloud } from '../cloud/cloud.ts'
import { listServers } from './list-servers.ts'
import { ServerView } from './server-view.ts'

const NEWEST = '2026-01-10T12:00:00Z'
const SHORTLY_BEFORE = Date.parse('2026-01-10T11:59:30Z')
const DATE = 'Sat, 10 Jan 2026 13:00:00 GMT'
const server = (id: string, updated: string) => ({
  ...{ id, name: id, status: 'ACTIVE', metadata: {}, flavor: {} },
  ...{ created: '2026-01-01T00:00:00Z', updated },
})
const SERVERS = [server('a', '2026-01-09T00:00:00Z'), server('b', NEWEST)]
const signal = () => AbortSignal.timeout(5_000)

/** A cloud with these servers, and since when it was asked for changes. */
function cloudWith(headers: Readonly<Record<string, string>>, servers: readonly object[]) {
  const asked: (string | undefined)[] = []
  const ask = (..._: readonly unknown[]) => {
    const { query } = _.at(-1) as { readonly query: Readonly<Record<string, string>> }
    asked.push(query['changes-since'])
    return Promise.resolve({ body: { servers: asked.length === 1 ? servers : [] }, headers })
  }
  return { asked, cloud: { ask } as unknown as Cloud }
}

test.each([
  ['that tells the time', { date: DATE }, SERVERS, Date.parse(DATE) - 30_000],
  ['that does not', {}, SERVERS, SHORTLY_BEFORE],
  ['that does not, and has no servers', {}, [], undefined],
] as const)('a cloud %s is asked for changes alone', async (_what, headers, servers, since) => {
  const { asked, cloud } = cloudWith(headers, servers)
  await using view = new ServerView({
    marker: 'mark',
    list: (after, at) => listServers(cloud, { since: after, microversion: undefined }, at),
    show: () => Promise.resolve(undefined),
    everyMs: 1,
  })

  for (const _ of [1, 2, 3]) await view.refresh(signal())

  const changes = since === undefined ? undefined : new Date(since).toISOString()
  expect(asked).toEqual([undefined, changes, changes])
})
