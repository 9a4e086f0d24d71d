import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createConnection } from 'mysql2/promise'
import { addressesIn } from '#common/addresses.ts'
import { connectionTo } from '#common/db/connection-options.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import type { Env } from '#common/env.ts'
import { errorChain } from '#common/errors.ts'
import type { Finding } from '../doctor/finding.ts'

const LIMIT_MS = 3_000
const DATABASES = ['GATEWAY_DATABASE_URL', 'CELL_DATABASE_URL']
/** Settings with one address or several of what a program connects to. */
const ADDRESSES = [
  'GATEWAY_NATS_URL',
  'GATEWAY_NATS_LEAF_URL',
  'GATEWAY_IDENTITY_URL',
  'GATEWAY_IMAGES_S3_ENDPOINT',
  'CELL_NATS_URL',
  'CELL_UPLINK_URL',
  'CELL_IMAGE_URL',
  'COMPUTE_NATS_URL',
  'COMPUTE_GATEWAY_URL',
  'COMPUTE_IMAGE_URL',
]
const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'ws:': 80,
  'wss:': 443,
  'nats:': 4_222,
  'tls:': 4_222,
}

/**
 * Whether the databases let this account in, and something listens at the other addresses. Of several servers in one
 * setting one is enough.
 */
export async function checkAddresses(env: Env): Promise<readonly Finding[]> {
  const databases = DATABASES.map((name) => {
    const url = secretOf(env, name)
    const urls = url === undefined ? [] : databaseUrls(url)
    return urls.map((each) => reaches(name, new URL(each).host, () => logIn(each)))
  })
  const others = ADDRESSES.map((name) =>
    addressesIn(env[name] ?? '').map((each) => reaches(name, each, () => knock(new URL(each)))),
  )
  const found = await Promise.all([...databases, ...others].map((each) => Promise.all(each)))
  return found.flatMap((ofSetting) => {
    const isServed = ofSetting.some(({ is }) => is === 'ok')
    return ofSetting.map((each) => (isServed && each.is === 'bad' ? { ...each, is: 'note' } : each))
  })
}

function secretOf(env: Env, name: string): string | undefined {
  const file = env[`${name}_FILE`]
  return file === undefined || file === '' ? env[name] : readFileSync(file, 'utf8').trimEnd()
}

async function reaches(
  name: string,
  address: string,
  probe: () => Promise<void>,
): Promise<Finding> {
  try {
    await probe()
    return { is: 'ok', what: `${name}: ${address} answers` }
  } catch (error) {
    return { is: 'bad', what: `${name}: ${address} does not answer: ${errorChain(error)}` }
  }
}

async function logIn(url: string): Promise<void> {
  const server = new URL(url)
  // The database itself may not have been made yet.
  server.pathname = ''
  const connection = await createConnection({
    ...connectionTo(server.href),
    connectTimeout: LIMIT_MS,
  })
  await connection.end()
}

function knock({ protocol, hostname, port }: URL): Promise<void> {
  const to = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
    timeout: LIMIT_MS,
  }
  return new Promise((resolve, reject) => {
    const socket = connect(to, () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
    socket.once('timeout', () => socket.destroy(new Error(`no answer in ${LIMIT_MS / 1_000} s`)))
  })
}
