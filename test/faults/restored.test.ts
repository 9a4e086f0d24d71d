import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { type BackupSubject, openBackup, writeBackup } from '#deploy/upkeep/backup-file.ts'
import { assertRestorable, restoreBackup } from '#deploy/upkeep/restore-backup.ts'
import { activeServer, deleteServer, SERVERS, showServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { testServices } from '#test/env/services.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: after the database of a cell or of the gateways was restored from an older copy, both agree again without an operator.

const LIMIT_MS = 30_000
/** A host reports its guests every minute, and a superfluous guest is found in the next report. */
const REPORTED_MS = 90_000

let cloud: Cloud
let directory: string
let keyFile: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  directory = mkdtempSync(join(tmpdir(), 'weir-backup-'))
  keyFile = join(directory, 'key')
  writeFileSync(keyFile, 'a key')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

const statusOf = async (id: string) => (await showServer(cloud.as('demo'), id)).status
const until = (id: string, status: string, limitMs = LIMIT_MS) =>
  waitFor(`${id} to be ${status}`, async () => (await statusOf(id)) === status, limitMs)
const stop = (id: string) => cloud.as('demo').post(`${SERVERS}/${id}/action`, { 'os-stop': null })

async function backUp(of: BackupSubject, url: string): Promise<string> {
  const file = join(directory, `${of.kind}.backup`)
  await writeBackup(file, { of, url, keyFile })
  return file
}

async function restore(file: string, url: string): Promise<void> {
  const server = new URL((await testServices()).databaseRootUrl)
  const rootUrl = (database = '') => {
    server.pathname = database
    return server.href
  }
  const backup = await openBackup(file)
  const target = { rootUrl, database: new URL(url).pathname.slice(1), keyFile }
  await restoreBackup(backup, target)
}

test('a cell restored from an older copy forgets no delete and believes its hosts', async () => {
  const demo = cloud.as('demo')
  const [cell] = cloud.cells
  const { id, name, databaseUrl } = cell!
  const stopped = await activeServer(cloud, demo)
  const gone = await activeServer(cloud, demo)
  const started = await activeServer(cloud, demo)
  await stop(started.id)
  await until(started.id, 'SHUTOFF')
  const file = await backUp({ kind: 'cell', id, name }, databaseUrl)
  await demo.post(`${SERVERS}/${started.id}/action`, { 'os-start': null })
  await until(started.id, 'ACTIVE')
  await stop(stopped.id)
  await until(stopped.id, 'SHUTOFF')
  await deleteServer(demo, gone.id)
  const later = await activeServer(cloud, demo)

  await cell!.processes[0]!.stop()
  await restore(file, databaseUrl)
  await cell!.processes[0]!.start()

  // The cell has no record of the server: it is shown as before, and its delete succeeds and removes its guest.
  const isHere = () => cloud.hosts[0]!.guests().then((guests) => guests.includes(later.id))
  expect(await isHere()).toBe(true)
  await deleteServer(demo, later.id)
  expect(await isHere()).toBe(false)
  await expectInvariants(cloud, REPORTED_MS)
  await until(stopped.id, 'SHUTOFF', REPORTED_MS)
  await until(started.id, 'ACTIVE', REPORTED_MS)
  expect((await demo.get(`${SERVERS}/${gone.id}`)).status).toBe(404)
})

test('gateways restored from an older copy learn what cells have done since', async () => {
  const demo = cloud.as('demo')
  const { databaseUrl } = cloud.foundation
  const stopped = await activeServer(cloud, demo)
  const gone = await activeServer(cloud, demo)
  const file = await backUp({ kind: 'gateway' }, databaseUrl)
  await stop(stopped.id)
  await until(stopped.id, 'SHUTOFF')
  await deleteServer(demo, gone.id)
  const later = await activeServer(cloud, demo)
  const kept = await activeServer(cloud, demo, {
    name: 'kept',
    metadata: { of: 'the time between' },
  })
  const token = await cloud.login('demo')

  await cloud.gateways[0]!.stop()
  await restore(file, databaseUrl)
  await cloud.gateways[0]!.start()

  const asked = (path: string, known: string) =>
    fetch(cloud.endpoints[0] + path, { headers: { 'x-auth-token': known } })
  expect((await asked(SERVERS, token)).status).toBe(401)
  const fresh = await cloud.login('demo')
  // Servers made since the backup are orphans: they are shown to operators, and deleted only on their request.
  cloud.as('admin').logOut()
  const admin = new WeirCommand(cloud, 'admin')
  const { name } = cloud.cells[0]!
  expect((await asked(`${SERVERS}/${later.id}`, fresh)).status).toBe(404)
  const orphans = () => admin.json<readonly object[]>(`cell orphans ${name}`)
  const isReported = async () => (await admin.run(`cell orphans ${name}`)).code === 0
  await waitFor('a heartbeat of the cell', isReported, LIMIT_MS)
  const both = [later, kept].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  expect(await orphans()).toMatchObject(both.map(({ id }) => ({ id, state: 'active' })))
  const adopt = (id: string) => admin.run(`cell orphans ${name} --adopt ${id} -o json`)
  const adopted = await adopt(kept.id)
  expect(adopted).toMatchObject({ code: 0 })
  expect(JSON.parse(adopted.out)).toMatchObject({ server_id: kept.id, missing: expect.any(Array) })
  expect((await adopt(kept.id)).code).toBe(1)
  expect((await adopt('kept')).code).toBe(3)
  const again = (await (await asked(`${SERVERS}/${kept.id}`, fresh)).json()) as object
  const { name: called, addresses, metadata, flavor, image, status } = kept
  const same = { name: called, addresses, metadata, flavor, image, status }
  expect(again).toMatchObject({ server: same })
  expect((await admin.run(`cell orphans ${name} --end ${later.id}`)).code).toBe(2)
  expect(await cloud.hosts[0]!.guests()).toContain(later.id)
  expect((await admin.run(`cell orphans ${name} --end ${stopped.id} --yes`)).code).toBe(1)
  expect((await admin.run(`cell orphans ${name} --end ${later.id} --yes`)).code).toBe(0)
  await waitFor('it to be gone', async () => (await orphans()).length === 0, LIMIT_MS)
  expect(await cloud.hosts[0]!.guests()).not.toContain(later.id)
  await expectInvariants(cloud, LIMIT_MS)
  // It is one like the others.
  demo.logOut()
  await stop(kept.id)
  await until(kept.id, 'SHUTOFF')
  await deleteServer(demo, kept.id)
  await expectInvariants(cloud, LIMIT_MS)
  const shown = await asked(`${SERVERS}/${stopped.id}`, fresh)
  expect(await shown.json()).toMatchObject({ server: { status: 'SHUTOFF' } })
  expect((await asked(`${SERVERS}/${gone.id}`, fresh)).status).toBe(404)
})

test('a backup is not restored over other tables, or where its secrets cannot be opened', async () => {
  const backup = await openBackup(join(directory, 'gateway.backup'))
  const otherKey = join(directory, 'other')
  writeFileSync(otherKey, 'another')
  expect(() => assertRestorable(backup, keyFile)).not.toThrow()
  expect(() => assertRestorable(backup, otherKey)).toThrow('does not open')
  const header = { ...backup.header, schema: 'of another release' }
  expect(() => assertRestorable({ ...backup, header }, keyFile)).toThrow('another release')
  await expect(openBackup(otherKey)).rejects.toThrow('is no backup')
})
