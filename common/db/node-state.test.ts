import { createConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { testServices } from '#test/env/services.ts'
import { queryState } from './node-state.ts'

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
