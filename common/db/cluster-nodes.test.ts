import { expect, test } from 'vitest'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'
import { ClusterNodes } from './cluster-nodes.ts'

test('a connection that is being opened at the end is closed', async () => {
  const { databaseRootUrl } = await testServices()
  await using slow = await Relay.open(databaseRootUrl)
  slow.set('hold')
  const nodes = new ClusterNodes([slow.url], { follow: () => undefined })
  await expect.poll(() => slow.connections).toBe(1)

  await nodes[Symbol.asyncDispose]()
  slow.set('pass')

  // One that stays open keeps a command from ending.
  await expect.poll(() => slow.connections).toBe(0)
})
