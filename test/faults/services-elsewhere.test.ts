import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Checkout } from '../env/checkout.ts'
import { type PrivateServices, privateServices } from '../env/private-services.ts'

// Goal: ./weir up uses a database and a bus that somebody else runs, keeps to them, and leaves them as they were.

const OWN = ['weir', 'weir_cell_north']

let servers: PrivateServices
let checkout: Checkout
let elsewhere: readonly string[]

beforeAll(async () => {
  servers = await privateServices()
  const { databaseRootUrl, natsUrl, natsLeafUrl, directory } = servers.services
  elsewhere = [
    ...['--database', databaseRootUrl],
    ...['--bus', natsUrl, '--bus-keys', join(directory, 'nats'), '--bus-leaf', natsLeafUrl],
  ]
  checkout = new Checkout()
  const shape = ['--driver', 'fake', '--cells', '1', '--hosts', '1']
  await checkout.succeed('up', ...shape, ...elsewhere)
})

afterAll(async () => {
  await checkout?.[Symbol.asyncDispose]()
  await servers?.[Symbol.asyncDispose]()
})

/** Those of Weir that the database server has. */
async function databases(): Promise<readonly string[]> {
  const connection = await createConnection({ uri: servers.services.databaseRootUrl })
  try {
    const [rows] = await connection.query<RowDataPacket[]>("show databases like 'weir%'")
    return rows.map((row) => String(Object.values(row)[0])).toSorted()
  } finally {
    await connection.end()
  }
}

const firstServer = async () => (await checkout.servers()).find(({ name }) => name === 'first')

test('up starts no database and no bus of its own, and boots a server', async () => {
  const names = [...(await checkout.processes()).keys()]

  expect(names).toEqual(['gateway-1', 'cell-north', 'compute-north-1'])
  expect((await firstServer())?.status).toBe('ACTIVE')
  expect(await databases()).toEqual(OWN)
})

test('up again changes nothing, and refuses other servers', async () => {
  expect(await checkout.succeed('up', ...elsewhere)).toContain('up already')

  for (const [option, other] of [
    ['--database', 'mysql://root@127.0.0.1:1'],
    ['--bus', 'nats://127.0.0.1:1'],
  ] as const) {
    const { code, stderr } = await checkout.weir('up', option, other)
    expect([code, stderr]).toEqual([1, expect.stringContaining(`has ${option} `)])
    expect(stderr).toContain('127.0.0.1:1')
  }
})

test('doctor names the servers and asks them, and a backup has the databases', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-elsewhere-'))
  try {
    const { stdout } = await checkout.weir('doctor')
    const { host } = new URL(servers.services.databaseRootUrl)
    expect(stdout).toContain(`MariaDB at ${host} answers`)
    expect(stdout).toContain(`NATS at ${servers.services.natsUrl} answers`)

    expect(await checkout.succeed('backup', 'run', '--directory', directory)).toContain('north')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test('down leaves the servers at work, and up uses them again', async () => {
  const before = await firstServer()

  await checkout.succeed('down')
  expect(await databases()).toEqual(OWN)
  await checkout.succeed('up')

  expect(await firstServer()).toEqual(before)
  expect([...(await checkout.processes()).keys()]).not.toContain('mariadb')
})

test('another deployment is refused the same servers, before anything is started', async () => {
  await using other = new Checkout()

  for (const [given, reason] of [
    [elsewhere.slice(0, 2), 'has a database weir, which this deployment did not make'],
    [elsewhere.slice(2), 'has cells of another deployment'],
  ] as const) {
    const { code, stderr } = await other.weir('up', '--cells', '0', ...given)
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)])
  }
  expect((await other.processes()).size).toBe(0)
})

test('--fresh takes the databases and accounts away', async () => {
  await checkout.succeed('up', '--fresh', '--cells', '0')

  expect(await databases()).toEqual([])
  expect([...(await checkout.processes()).keys()]).toEqual(['mariadb', 'nats', 'gateway-1'])
})
