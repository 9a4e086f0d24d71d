import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import { afterAll, expect, test } from 'vitest'
import { layoutIn, makeFolders } from '../deployment/layout.ts'
import { planDeployment } from '../deployment/plan.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { freePort } from '../process/free-port.ts'
import { startProcess } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { logFile } from '../processes/program.ts'
import { waitForGateways } from './wait-ready.ts'

const layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-ready-')))
makeFolders(layout)

afterAll(() => rmSync(layout.home, { recursive: true }))

/** A deployment whose gateway was started at the port, runs `code` first, and is ready as soon as it listens. */
async function started(port: number, code = ''): Promise<DeploymentState> {
  const gateway = `${code}; require('http').createServer((_, it) => it.end()).listen(${port}, '127.0.0.1')`
  const identity = await startProcess({
    command: process.execPath,
    args: ['-e', gateway],
    env: {},
    directory: layout.home,
    logFile: logFile(layout, 'gateway-1'),
    lifetime: 'with-parent',
  })
  const driver = { name: 'fake', why: 'asked for' } as const
  const planned = await planDeployment({}, driver, createAccount().getPublicKey())
  const processes = { 'gateway-1': { ...identity, settingsDigest: '' } }
  return { ...planned, gateways: [{ name: 'gateway-1', port }], processes }
}

const SLOWLY = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)'

const stopped = (state: DeploymentState) => stopProcess(state.processes['gateway-1']!)

test('waitForGateways() waits for the gateway that was started', async () => {
  const port = await freePort()
  const state = await started(port)

  await waitForGateways(layout, state)

  const answer = await fetch(`http://127.0.0.1:${port}`)
  expect(answer.status).toBe(200)
  await stopped(state)
})

test('waitForGateways() does not accept the answer of another program on the port', async () => {
  const other = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }

  await expect(waitForGateways(layout, await started(port, SLOWLY))).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining(`took port ${port}`),
  })
  other.close()
})

test('waitForGateways() says how a gateway ended that had its port to itself', async () => {
  const state = await started(await freePort(), 'throw new Error("no database")')

  await expect(waitForGateways(layout, state)).rejects.toThrow(/gateway-1 ended[^]*no database/)
})
