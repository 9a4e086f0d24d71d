import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Layout, layoutIn, makeFolders } from '../deployment/layout.ts'
import { lockDeployment } from '../deployment/lock.ts'
import { planDeployment } from '../deployment/plan.ts'
import { type CloudRecord, existingState, saveState } from '../deployment/state.ts'
import { loginFiles, writeLogin } from '../nested/cloud-login.ts'
import { isRunning } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { processStates } from '../status/process-states.ts'
import { issueCellCredentials } from '../up/prepare-bus.ts'
import { databaseFiles } from '../up/prepare-databases.ts'
import { untilReady } from '../up/wait-ready.ts'
import { forgetCell, stopCell } from './forget-cell.ts'

const gatewayKey = createAccount().getPublicKey()
let layout: Layout

beforeEach(() => {
  layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-forget-')))
  makeFolders(layout)
})

afterEach(() => rmSync(layout.home, { recursive: true }))

async function asleep() {
  const { env } = process
  const logFile = join(layout.logs, 'asleep.log')
  const what = { command: 'sleep', args: ['600'], env, directory: layout.home, logFile }
  return { ...(await startProcess({ ...what, lifetime: 'with-parent' })), settingsDigest: '' }
}

test('of a cell that left nothing runs and no login is kept; the others are as they were', async () => {
  const driver = { name: 'fake', why: 'asked for' } as const
  const state = await planDeployment({ cells: 2, hosts: 1 }, driver, gatewayKey)
  const [north, south] = state.cells
  const names = ['gateway-1', 'cell-north', 'compute-north-1', 'cell-south', 'compute-south-1']
  const started = await Promise.all(names.map(async (name) => [name, await asleep()] as const))
  saveState(layout, { ...state, processes: Object.fromEntries(started) })
  for (const { name } of state.cells) await writeLogin(layout, name, { user: 'web' })
  await issueCellCredentials(layout, state)
  for (const { name, hosts } of state.cells) {
    const key = join(layout.secrets, `cell-${name}.key`)
    for (const file of [...databaseFiles(layout, name), key]) writeFileSync(file, 'secret')
    for (const host of hosts) mkdirSync(join(layout.hosts, host.name, 'state'), { recursive: true })
  }
  const kept = () =>
    [layout.secrets, layout.hosts].flatMap((folder) => readdirSync(folder)).toSorted()
  const before = kept()
  const running = () => started.filter(([, each]) => isRunning(each)).map(([name]) => name)

  await forgetCell(layout, 'of another deployment')
  expect(running()).toEqual(names)
  {
    using _busy = lockDeployment(layout)
    await expect(forgetCell(layout, south!.id)).rejects.toMatchObject({ kind: 'conflict' })
  }
  await forgetCell(layout, south!.id)
  await forgetCell(layout, south!.id)

  expect(running()).toEqual(['gateway-1', 'cell-north', 'compute-north-1'])
  const left = existingState(layout)
  expect(left.cells).toEqual([north])
  expect(Object.keys(left.processes)).toEqual(running())
  expect(kept()).toEqual(before.filter((name) => !name.includes('south')))
  expect(before.filter((name) => name.includes('south'))).toHaveLength(9)
  expect(loginFiles(layout, 'south').some(existsSync)).toBe(false)
  expect(loginFiles(layout, 'north').every(existsSync)).toBe(true)
})

test('a cell that is taken out of the deployment leaves no program that is waited for', async () => {
  const driver = { name: 'fake', why: 'asked for' } as const
  const state = await planDeployment({ cells: 2, hosts: 1 }, driver, gatewayKey)
  const [north, south] = state.cells
  const cell = await asleep()
  const ended = await asleep()
  await stopProcess(ended)
  const processes = { 'cell-north': await asleep(), 'cell-south': cell, 'compute-south-1': ended }

  const without = await stopCell({ ...state, processes }, south!)

  expect(without.cells).toEqual([north])
  expect(isRunning(cell)).toBe(false)
  await untilReady(layout, without, 'nothing', () => Promise.resolve(true))
})

test('the hypervisors of a status are those that the launcher starts', async () => {
  const driver = { name: 'docker', why: 'asked for' } as const
  const state = await planDeployment({ cells: 2, hosts: 1 }, driver, gatewayKey)
  const [north, south] = state.cells
  const nested = { ...south!, cloud: {} as CloudRecord }

  const states = await processStates(layout, { ...state, cells: [north!, nested] })

  const names = states.map(({ name }) => name)
  expect(names).toContain('docker-north-1')
  expect(names).not.toContain('docker-south-1')
  expect(names).toContain('compute-south-1')
})
