import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { waitFor } from '#common/wait-for.ts'
import type { Loose } from '#test/env/api/client.ts'
import { SERVERS } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

const TABLE = new URL('openstack-requests.yaml', import.meta.url)
const ALL = parse(readFileSync(TABLE, 'utf8')) as Readonly<Record<string, readonly string[]>>
/** Those that leave nothing behind and need nothing that an earlier one made, of each service one. */
const FEW = new Set([
  'image show tiny',
  'flavor list --all',
  'network show private',
  'usage list',
  'quota show',
  'resource provider list',
])

/** Requests with another status here than in the recording, and the reason. */
const OTHERWISE: Readonly<Record<string, { readonly status: number; readonly why: string }>> = {
  'console url show cli-nic': { status: 200, why: 'hosts have consoles, as those had not' },
  'hypervisor show HOST': {
    status: 200,
    why: 'hosts tell how long they are up, as those could not',
  },
}

const TOKEN = ['GET /identity/v3 200', 'POST /identity/v3/auth/tokens 201']
const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b|\breq-[\w-]+/g
/** Aggregates, hypervisors and flavors may have numbers. */
const NUMBER = /(?<=\/(?:os-aggregates|os-hypervisors|flavors)\/)\d+/g
const LIMIT_MS = 600_000
const IDLE_LIMIT_MS = 60_000
/** Enough for one to have no servers: only such a host may change its zone. */
const HOSTS = 6

const why = whyNoOpenstack()

let cloud: Cloud
let admin: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: HOSTS })
  admin = new OpenstackCli(cloud.endpoints[0]!, cloud.foundation.accounts.admin)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

/** The command with the names and ids of this cloud. */
async function lineOf(command: string): Promise<string> {
  let line = command.replace('NETWORK', cloud.catalog.network)
  if (line.includes('HOST')) line = line.replace('HOST', await emptyHost())
  if (line.includes('REQUEST')) line = line.replace('REQUEST', await newestRequest())
  return line
}

async function emptyHost(): Promise<string> {
  const servers = await admin.json<Rows>('server list --all-projects --long')
  const used = new Set(servers.map((row) => row['Host']))
  return cloud.hosts.map(({ name }) => name).find((name) => !used.has(name)) ?? 'none is empty'
}

async function newestRequest(): Promise<string> {
  const [newest] = await admin.json<Rows>('server event list cli-nic')
  return String(newest?.['Request ID'])
}

/**
 * Waits until nothing is being done with a server. The client takes a server for shelved whose host has not let go of it
 * yet, as which Nova shows it too, and does not wait for others at all.
 */
async function untilIdle(): Promise<void> {
  const isIdle = async () => {
    const { body } = await cloud.as('admin').get<Loose>(`${SERVERS}/detail?all_tenants=1`)
    return (body['servers'] as readonly Loose[]).every(
      (server) => server['OS-EXT-STS:task_state'] === null,
    )
  }
  await waitFor('every server to be idle', isIdle, IDLE_LIMIT_MS)
}

/** As the table has it. */
function shortened(requests: readonly string[]): readonly string[] {
  const host = new RegExp(`(?<=/)(?:${cloud.hosts.map(({ name }) => name).join('|')})\\b`, 'g')
  const plain = requests.map((request) =>
    request
      .replace(/\?\S*/, '')
      .replace(/\/ /, ' ')
      .replaceAll(ID, 'ID')
      .replaceAll(NUMBER, 'ID')
      .replaceAll(host, 'HOST'),
  )
  return [...new Set(plain)]
}

/** The recorded requests, with the statuses of `OTHERWISE`. */
function expected(command: string, requests: readonly string[]): readonly string[] {
  const other = OTHERWISE[command]
  if (other === undefined) return requests
  return [...requests.slice(0, -1), String(requests.at(-1)).replace(/\d{3}$/, String(other.status))]
}

describe.skipIf(why !== undefined)(`openstack (${why ?? 'installed'})`, () => {
  test('sends the requests that an OpenStack gets, and gets its answers', {
    timeout: LIMIT_MS,
  }, async () => {
    const asked: Record<string, readonly string[]> = {}
    const wanted: Record<string, readonly string[]> = {}
    for (const [command, requests] of Object.entries(ALL)) {
      if (!isFullRun && !FEW.has(command)) continue
      wanted[command] = [...TOKEN, ...expected(command, requests)]
      await untilIdle()
      asked[command] = shortened(await admin.requests(await lineOf(command)))
    }
    expect(Object.keys(asked).length).toBeGreaterThanOrEqual(FEW.size)
    expect(asked).toEqual(wanted)
  })
})
