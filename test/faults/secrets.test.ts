import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  askForServer,
  createServer,
  deleteServer,
  showServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { findTexts } from '#test/env/database-text.ts'

// Goal: a copy of a database or of a log reveals no secrets of users.
// Method: canaries go through a whole cloud whose programs log all they can; then every row and line is searched.

const PASSWORD = 'canary-password-4711'
const USER_DATA =
  'canary user data: the secret of a guest, which is long enough to be found in base64'
const ENCODED = Buffer.from(USER_DATA).toString('base64')
const CANARIES = [PASSWORD, USER_DATA, ENCODED, ENCODED.slice(8, 60)]
const BOOT_LIMIT_MS = 30_000

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, outside: ['gateway', 'cell'] })
  demo = cloud.as('demo')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

const secrets = { adminPass: PASSWORD, user_data: ENCODED }
const databases = () => [
  cloud.foundation.databaseUrl,
  ...cloud.cells.map(({ databaseUrl }) => databaseUrl),
]

async function inDatabases(): Promise<readonly string[]> {
  const found = await Promise.all(databases().map((url) => findTexts(url, CANARIES)))
  return found.flat()
}

function logs(): string {
  const { directory } = cloud.foundation
  const files = readdirSync(directory).filter((name) => name.endsWith('.log'))
  return files.map((name) => readFileSync(join(directory, name), 'utf8')).join('\n')
}

test('user data and password stand in no row in plain text: neither while a boot runs nor after', async () => {
  for (const host of cloud.hosts) host.fail({ method: 'spawn', effect: { do: 'hang' } })

  const id = await createServer(cloud, demo, secrets)
  await waitFor(
    'a host to be asked',
    async () => (await showServer(demo, id))['OS-EXT-STS:task_state'] === 'spawning',
    BOOT_LIMIT_MS,
  )
  const whileBooting = await inDatabases()
  for (const host of cloud.hosts) host.fail()
  await untilStatus(demo, id, 'ACTIVE', BOOT_LIMIT_MS)

  expect(whileBooting).toEqual([])
  expect(await inDatabases()).toEqual([])
})

test('a server whose cell process dies during the boot is built from the sealed request', async () => {
  for (const host of cloud.hosts) host.fail({ method: 'spawn', effect: { do: 'hang' } })
  const id = await createServer(cloud, demo, secrets)
  await waitFor(
    'a host to be asked',
    async () => (await showServer(demo, id))['OS-EXT-STS:task_state'] === 'spawning',
    BOOT_LIMIT_MS,
  )

  for (const process of cloud.cells.flatMap(({ processes }) => processes)) {
    await process.kill()
    await process.start()
  }
  for (const host of cloud.hosts) host.fail()

  await untilStatus(demo, id, 'ACTIVE', BOOT_LIMIT_MS)
  expect(await inDatabases()).toEqual([])
})

test('no secret a client sent or was given is in any log line, and every line is JSON', async () => {
  const token = await cloud.login('demo')
  const id = await createServer(cloud, demo, secrets)
  await untilStatus(demo, id, 'ACTIVE', BOOT_LIMIT_MS)
  await deleteServer(demo, id)
  const { accounts, secretKey } = cloud.foundation

  const text = logs()

  const given = [...CANARIES, token, accounts.demo.password, accounts.admin.password, secretKey]
  expect(given.filter((secret) => text.includes(secret))).toEqual([])
  const lines = text.split('\n').filter((line) => line !== '')
  expect(lines.length).toBeGreaterThan(20)
  expect(lines.filter((line) => !isLogLine(line))).toEqual([])
})

test('a request is found by its id in the gateway and in the cell', async () => {
  const { headers, body } = await askForServer(cloud, demo)
  await untilStatus(demo, body.server.id, 'ACTIVE', BOOT_LIMIT_MS)
  const id = headers['x-openstack-request-id'] ?? 'none'

  const lines = () =>
    logs()
      .split('\n')
      .filter((line) => line.includes(id))
  const programs = () =>
    new Set(lines().map((line) => (JSON.parse(line) as { readonly name: string }).name))
  await waitFor('lines of both', () => programs().size === 2, BOOT_LIMIT_MS)

  expect([...programs()].toSorted()).toEqual(['cell', 'gateway'])
  for (const line of lines()) expect(JSON.parse(line)).toMatchObject({ request_id: id })
})

function isLogLine(line: string): boolean {
  try {
    const parsed: unknown = JSON.parse(line)
    return typeof parsed === 'object' && parsed !== null && 'time' in parsed && 'level' in parsed
  } catch {
    return false
  }
}
