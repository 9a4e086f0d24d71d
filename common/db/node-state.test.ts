import { type Connection, createConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { testServices } from '#test/env/services.ts'
import { queryState } from './node-state.ts'

const CLUSTER_STATUS = Object.entries({
  wsrep_provider_name: 'Galera',
  wsrep_ready: 'ON',
  wsrep_cluster_status: 'Primary',
  wsrep_local_state: '4',
}).map(([Variable_name, Value]) => ({ Variable_name, Value }))

test('a server that could be a node of a cluster, and is none, takes statements unless it is read_only', async () => {
  const { databaseRootUrl } = await testServices()
  const connection = await createConnection(databaseRootUrl)
  try {
    expect(await queryState(connection)).toMatchObject({
      isInCluster: true,
      isSynced: true,
      size: 0,
    })
  } finally {
    await connection.end()
  }
})

test('a node that another one makes wait for the table of writers names the writer', async () => {
  let refusals = 2
  const answers = new Map<string, readonly object[]>([
    ['show global status', CLUSTER_STATUS],
    ['select @@wsrep_node_name', [{ name: 'b' }]],
    ['select node from database_writer', [{ node: 'a' }]],
  ])
  const query = async ({ sql }: { sql: string }) => {
    if (sql.includes('database_writer') && refusals-- > 0)
      throw Object.assign(new Error('Deadlock found'), { code: 'ER_LOCK_DEADLOCK' })
    return [[...answers].find(([start]) => sql.startsWith(start))?.[1]]
  }

  const state = await queryState({ query } as unknown as Connection)

  expect(state).toMatchObject({ name: 'b', isInCluster: true, elected: 'a' })
})
