import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { cloudAccount, openrcVariables, writeCloudsFile } from './clouds-file.ts'
import { type Layout, layoutIn, makeFolders } from './layout.ts'
import { lockDeployment } from './lock.ts'
import { assertSame, assignmentsOf } from './options.ts'
import { planDeployment } from './plan.ts'
import { existingState, loadState, saveState } from './state.ts'

const gatewayKey = createAccount().getPublicKey()
const driver = { name: 'fake', why: 'asked for' } as const
let layout: Layout

beforeEach(() => {
  layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-deployment-')))
  makeFolders(layout)
})

afterEach(() => rmSync(layout.home, { recursive: true }))

test('planDeployment() gives every gateway a port of its own and every host a name', async () => {
  const state = await planDeployment({ cells: 5, hosts: 2, gateways: 3 }, driver, gatewayKey)

  const hosts = state.cells.flatMap((cell) => cell.hosts.map(({ name }) => name))
  expect(new Set(state.gateways.map(({ port }) => port)).size).toBe(3)
  expect(state.cells.map(({ name }) => name)).toEqual(['north', 'south', 'east', 'west', 'cell5'])
  expect(new Set(hosts).size).toBe(10)
})

test('saveState() and loadState() are inverse, and only the owner may read the file', async () => {
  expect(loadState(layout)).toBeUndefined()
  expect(() => existingState(layout)).toThrow('Run: ./weir up')
  const state = await planDeployment({}, driver, gatewayKey)

  saveState(layout, state)

  expect(loadState(layout)).toEqual(state)
  expect(statSync(layout.stateFile).mode & 0o777).toBe(0o600)
})

test('loadState() refuses the state of another version', () => {
  writeFileSync(layout.stateFile, '{"version": 2}')

  expect(() => loadState(layout)).toThrow('version 2')
})

test('assertSame() names the option that an existing deployment does not have', async () => {
  const state = await planDeployment({ cells: 2 }, driver, gatewayKey)

  assertSame({}, state)
  assertSame({ cells: 2, driver: 'auto' }, state)
  expect(() => assertSame({ cells: 3 }, state)).toThrow('--cells 2, not 3')
  expect(() => assertSame({ driver: 'libvirt' }, state)).toThrow('--driver fake, not libvirt')
})

test('lockDeployment() is held by one running process at a time', () => {
  {
    using _held = lockDeployment(layout)
    expect(() => lockDeployment(layout)).toThrow(`pid ${process.pid}`)
  }

  writeFileSync(join(layout.home, 'lock.json'), JSON.stringify({ pid: process.pid, startTicks: 1 }))
  using _afterDeadHolder = lockDeployment(layout)
})

test('writeCloudsFile() keeps passwords when the endpoint changes', () => {
  const region = 'RegionOne'
  writeCloudsFile(layout, { local: 'http://127.0.0.1:1', remote: undefined, region })
  const before = cloudAccount(layout, 'weir')

  writeCloudsFile(layout, { local: 'http://127.0.0.1:2', remote: 'https://[::1]:3', region })

  expect(cloudAccount(layout, 'weir')).toEqual(before)
  expect(before).toMatchObject({ userName: 'demo', projectName: 'demo' })
  expect(cloudAccount(layout, 'weir-admin').password).not.toBe(before.password)
  expect(statSync(layout.cloudsFile).mode & 0o777).toBe(0o600)
  expect(openrcVariables(layout, 'weir')).toEqual([
    ['OS_AUTH_URL', 'http://127.0.0.1:2/identity/v3'],
    ['OS_USERNAME', 'demo'],
    ['OS_PASSWORD', before.password],
    ['OS_PROJECT_NAME', 'demo'],
    ['OS_USER_DOMAIN_ID', 'default'],
    ['OS_PROJECT_DOMAIN_ID', 'default'],
    ['OS_REGION_NAME', 'RegionOne'],
    ['OS_IDENTITY_API_VERSION', '3'],
  ])
  const { clouds } = parse(readFileSync(layout.cloudsFile, 'utf8'))
  expect(clouds['weir-remote']).toMatchObject({
    auth: { auth_url: 'https://[::1]:3/identity/v3', password: before.password },
    cacert: layout.certificateFile,
  })
})

test('the place of images is a setting of gateways', () => {
  expect(assignmentsOf({})).toEqual([])
  expect(assignmentsOf({ set: ['CELL_ZONE=a'], images: 's3://images' })).toEqual([
    'CELL_ZONE=a',
    'GATEWAY_IMAGES=s3://images',
  ])
})
