import { expect, test } from 'vitest'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'
import { ClusterConnections } from './cluster-connections.ts'
import { joinDatabaseUrls } from './database-url.ts'
import { NotReached } from './retry.ts'

const CALLERS = 20

/** Two servers of which the first is the writer, and connections to them. */
async function cluster() {
  const { databaseRootUrl } = await testServices()
  const servers = [await Relay.open(databaseRootUrl), await Relay.open(databaseRootUrl)] as const
  const urls = servers.map(({ url }) => url)
  const url = joinDatabaseUrls(urls as [string, ...string[]])
  const connections = new ClusterConnections(urls, { url, connectionsMax: CALLERS })
  const writer = await connections.connect('autocommit')
  writer.release()
  return { servers, connections }
}

test('those who find the writer gone wait for the next one, and do not dial meanwhile', async () => {
  const { servers, connections } = await cluster()
  await using owned = new AsyncDisposableStack()
  for (const each of [...servers, connections]) owned.use(each)
  const [first, second] = servers
  for (const each of servers) each.set('refuse')
  await expect.poll(() => connections.use.open).toBe(0)

  const callers = Array.from({ length: CALLERS }, () => connections.connect('autocommit'))
  await expect.poll(() => first.refusals).toBeGreaterThanOrEqual(CALLERS)
  second.set('pass')

  for (const each of await Promise.all(callers)) each.release()
})

test('those who wait for the next writer are refused when the database is given up', async () => {
  const { servers, connections } = await cluster()
  await using owned = new AsyncDisposableStack()
  for (const each of [...servers, connections]) owned.use(each)
  for (const each of servers) each.set('refuse')
  await expect.poll(() => connections.use.open).toBe(0)

  const caller = connections.connect('autocommit')
  const before = servers[0].refusals
  await expect.poll(() => servers[0].refusals).toBeGreaterThan(before)
  connections.giveUp()

  await expect(caller).rejects.toThrow(NotReached)
})
