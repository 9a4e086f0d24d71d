import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { gatewayAccount } from '#gateway/bus/accounts.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { startBusCluster } from '#test/env/bus-cluster.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { keyPair, natsKeys, takeKeys } from '../nats/nats-keys.ts'
import { type Nats, startNats, stopNats } from '../nats.ts'
import { freePort } from '../process/free-port.ts'
import { checkBus, readBusKeys } from './check-bus.ts'

// Goal: NATS servers that a deployment cannot use are refused before it is made, with the reason.

const directory = mkdtempSync(join(tmpdir(), 'weir-check-bus-'))
const at = (name: string) => join(directory, name)
let nats: Nats

beforeAll(async () => {
  nats = await startNats(at('one'), 'with-parent')
})

afterAll(async () => {
  await stopNats(at('one'))
  rmSync(directory, { recursive: true, force: true })
})

test('a server with these keys is taken, as often as it is asked', async () => {
  await checkBus(nats.url, nats.keys)
  await checkBus(nats.url, nats.keys)
})

test('the servers of a cluster are taken', async () => {
  await using cluster = await startBusCluster(at('cluster'))

  await checkBus(cluster.url, cluster.keys)
})

test('a bus of another operator, and one that is away, are told apart', async () => {
  const foreign = natsKeys(at('foreign'))
  await expect(checkBus(nats.url, foreign)).rejects.toMatchObject({
    kind: 'forbidden',
    message: expect.stringContaining('refuses the keys'),
  })

  const away = `nats://127.0.0.1:${await freePort()}`
  await expect(checkBus(away, foreign)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('servers that do not know each other are not one bus', async () => {
  takeKeys(at('two'), nats.keys)
  const two = await startNats(at('two'), 'with-parent')
  try {
    await expect(checkBus(`${nats.url},${two.url}`, nats.keys)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('are not one bus'),
    })
  } finally {
    await stopNats(at('two'))
  }
})

test('a bus with cells of another deployment is refused', async () => {
  const system = await connectSystem(nats.url, nats.keys.systemSeed)
  const key = keyPair(nats.keys.gatewaySeed).getPublicKey()
  const cellId = newId<CellId>()
  const account = await createCellAccount(cellId, key)
  const claims = gatewayAccount([account])
  await pushAccount({ system, operatorSeed: nats.keys.operatorSeed }, 'gateway', key, claims)
  await system.close()

  await expect(checkBus(nats.url, nats.keys)).rejects.toMatchObject({ kind: 'conflict' })
})

test('a directory without the keys is refused by the file that is missing', () => {
  expect(() => readBusKeys(at('none'))).toThrow('operator.nk is missing')
})
