import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { createLogger } from '#common/log.ts'
import { createImage } from '#gateway/app/images/create-image.ts'
import { deleteNetwork } from '#gateway/app/networks/change-networks.ts'
import {
  createSecurityGroup,
  deleteSecurityGroup,
} from '#gateway/app/networks/change-security-group.ts'
import { FreeAddresses } from '#gateway/app/networks/free-addresses.ts'
import type { Networks } from '#gateway/app/networks/list-networks.ts'
import { createSecurityGroupRule } from '#gateway/app/networks/security-group-rules.ts'
import { PortKeys } from '#gateway/app/networks/tunnel-keys.ts'
import { waitingEvents } from '#gateway/db/event-inbox.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { TestGalera } from '#test/env/galera.ts'
import { createNetwork, createPort, createSubnet } from '#test/env/network-objects.ts'
import { IdentityNodes, poolAndRouterRaces, type Race } from './galera/parents.ts'
import { passOverWriter } from './galera/passed-over.ts'
import { groupAndImageRaces, imagesOn, volumeRaces } from './galera/resources.ts'

// Goal: on a cluster of databases, whose nodes do not share locks, no row is doubled, lost or left without its parent, even
// while two nodes accept writes, as they do when the clients switch from one node to the other.

const RACES = 25
const owner = { projectId: 'a'.repeat(32), isAdmin: true }

const log = createLogger('galera', 'info')
let galera: TestGalera
let nodes: readonly [Database, Database]
let identities: IdentityNodes

beforeAll(async () => {
  galera = await TestGalera.start((url) => migrateDatabase(`${url}weir`, 'gateway/db/migrations'))
  const [first, second] = galera.rootUrls.map((url) => `${url}weir`) as [string, string]
  const options = { connectionsMax: 4, retryMs: 10_000, marksCommits: true }
  nodes = [new Database({ url: first, ...options }), new Database({ url: second, ...options })]
  identities = await IdentityNodes.begin(nodes)
}, 300_000)

afterAll(async () => {
  await identities?.[Symbol.asyncDispose]()
  await Promise.all((nodes ?? []).map((node) => node[Symbol.asyncDispose]()))
  await galera?.[Symbol.asyncDispose]()
})

/** The network service of the gateway that uses this node. */
function networksOn(node: 0 | 1): Networks {
  const freeAddresses = new FreeAddresses(systemClock)
  return {
    db: nodes[node],
    clock: systemClock,
    freeAddresses,
    portKeys: new PortKeys(),
    mtuMax: 1500,
  }
}

/** Rows of the first node, which has applied everything that the others have committed. */
async function rowsOf(query: string): Promise<readonly object[]> {
  return nodes[0].transaction(async (tx) => {
    await tx.orm.execute(sql`set session wsrep_sync_wait = 1`)
    const [rows] = await tx.orm.execute(sql.raw(query))
    return rows as unknown as readonly object[]
  })
}

const network = async () => (await createNetwork(networksOn(0), owner, { name: 'blue' })).id
/** Of a project of its own: some stay, and a project may have ten. */
const group = async () => {
  const requester = { ...owner, projectId: randomUUID().replaceAll('-', '') }
  return (await createSecurityGroup(networksOn(0), requester, { name: randomUUID() })).id
}

const RACING: Readonly<Record<string, Race>> = {
  'a port of a network': {
    parent: network,
    child: (id) => createPort(networksOn(0), owner, { network_id: id, security_groups: [] }),
    remove: (id) => deleteNetwork(networksOn(1), owner, id),
    orphans: 'select id from ports where network_id not in (select id from networks)',
  },
  'a subnet of a network': {
    parent: network,
    child: (id) =>
      createSubnet(networksOn(0), owner, { network_id: id, ip_version: 4, cidr: '10.1.0.0/24' }),
    remove: (id) => deleteNetwork(networksOn(1), owner, id),
    orphans: 'select id from subnets where network_id not in (select id from networks)',
  },
  'a rule of a security group': {
    parent: group,
    child: (id) =>
      createSecurityGroupRule(networksOn(0), owner, {
        security_group_id: id,
        direction: 'ingress',
        protocol: 'tcp',
        port_range_min: 22,
        port_range_max: 22,
      }),
    remove: (id) => deleteSecurityGroup(networksOn(1), owner, id),
    orphans:
      'select id from security_group_rules where security_group_id not in (select id from security_groups)',
  },
  'a rule that names a security group': {
    parent: group,
    child: async (id) =>
      createSecurityGroupRule(networksOn(0), owner, {
        security_group_id: await group(),
        direction: 'ingress',
        remote_group_id: id,
      }),
    remove: (id) => deleteSecurityGroup(networksOn(1), owner, id),
    orphans:
      'select id from security_group_rules where remote_group_id is not null and remote_group_id not in (select id from security_groups)',
  },
  'a port of a security group': {
    parent: group,
    child: async (id) =>
      createPort(networksOn(0), owner, { network_id: await network(), security_groups: [id] }),
    remove: (id) => deleteSecurityGroup(networksOn(1), owner, id),
    orphans:
      'select * from port_security_groups where security_group_id not in (select id from security_groups)',
  },
}

const OTHERS = [
  'a member of a server group',
  'a user of a domain',
  'a group of a domain',
  'a project of a project',
  'a credential of a user',
  'a member of a group',
  'a group of a user',
  'a user of a role',
  'a role of a user',
  'a role in a project',
  'a role that another implies',
  'a subnet of a subnet pool',
  'an interface of a router',
  'a host of an aggregate',
  'a member of an image',
  'a tag of an image',
  'a snapshot of a volume',
]

test.each([...Object.keys(RACING), ...OTHERS])(
  '%s is never left behind by a delete on another node',
  async (name) => {
    const { parent, child, remove, orphans } = raceOf(name)
    const outcomes = { both: 0, one: 0 }
    for (let race = 0; race < RACES; race += 1) {
      const id = await parent()
      await rowsOn(1)
      const results = await Promise.allSettled([child(id), remove(id)])
      const failed = results.filter((each) => each.status === 'rejected')
      outcomes[failed.length === 0 ? 'both' : 'one'] += 1
      for (const { reason } of failed)
        expect(['conflict', 'not-found', 'invalid', 'forbidden']).toContain(
          (reason as { kind?: string }).kind,
        )
    }

    expect(await rowsOf(orphans)).toEqual([])
    expect(outcomes.both + outcomes.one).toBe(RACES)
  },
)

function raceOf(name: string): Race {
  const on = { networks: [networksOn(0), networksOn(1)] as const, owner }
  const race = {
    ...RACING,
    ...poolAndRouterRaces(on),
    ...groupAndImageRaces(nodes),
    ...volumeRaces(nodes),
    ...identities.races(),
  }[name]
  if (race === undefined) throw new Error(`There is no race for ${name}`)
  return race
}

/** Afterwards the node has applied everything. */
async function rowsOn(node: 0 | 1): Promise<void> {
  await nodes[node].transaction(async (tx) => {
    await tx.orm.execute(sql`set session wsrep_sync_wait = 1`)
    await tx.orm.execute(sql`select 1 from networks limit 1`)
  })
}

test('a project gets no more images than its limit, whichever node counts them', async () => {
  for (let race = 0; race < RACES; race += 1) {
    const projectId = await raceOf('a role in a project').parent()
    await rowsOn(1)
    const results = await Promise.allSettled(
      nodes.map((node) =>
        createImage(imagesOn(node, 1), { projectId, isAdmin: false }, { name: 'i' }),
      ),
    )

    const failed = results.filter((each) => each.status === 'rejected')
    expect(failed).toEqual([
      { status: 'rejected', reason: expect.objectContaining({ kind: 'over-quota' }) },
    ])
  }
})

test('a statement with a limit runs within a transaction', async () => {
  const waiting = await nodes[0].transaction((tx) => waitingEvents(tx, 500))

  expect(waiting).toBeInstanceOf(Array)
})

test('processes that migrate on different nodes at once migrate once', async () => {
  const urls = galera.rootUrls.map((url) => `${url}migrated`)

  await Promise.all([...urls, ...urls].map((url) => migrateDatabase(url, 'cells/db/migrations')))

  const [{ n }] = (await rowsOf('select count(*) as n from migrated.__drizzle_migrations')) as [
    { n: number },
  ]
  const { entries } = JSON.parse(
    readFileSync('cells/db/migrations/meta/_journal.json', 'utf8'),
  ) as {
    entries: readonly object[]
  }
  expect(n).toBe(entries.length)
})

test('transactions that change one row on two nodes at once all have their effect, once each', async () => {
  await nodes[0].orm.execute(sql`create table counters (id int primary key, n int not null)`)
  await nodes[0].orm.execute(sql`insert into counters values (1, 0)`)
  await rowsOn(1)
  const add = (node: Database) =>
    node.transaction((tx) => tx.orm.execute(sql`update counters set n = n + 1 where id = 1`))
  const alone = (node: Database) =>
    node.orm.execute(sql`update counters set n = n + 1 where id = 1`)

  const work = Array.from({ length: 40 }, () => nodes.flatMap((node) => [add(node), alone(node)]))
  await Promise.all(work.flat())

  expect(await rowsOf('select n from counters')).toEqual([{ n: 160 }])
})

test('a transaction that another node overtakes while a statement is prepared commits whole or not at all', async () => {
  await nodes[0].orm.execute(sql`create table parents (id int primary key, n int not null)`)
  await nodes[0].orm.execute(sql`create table children (parent_id int primary key)`)
  const change = sqlStatement(sql`update parents set n = n + 1 where id = ${sql.placeholder('id')}`)
  const insert = sqlStatement(sql`insert into children values (${sql.placeholder('id')})`)
  const remove = sqlStatement(sql`delete from parents where id = ${sql.placeholder('id')}`)
  const removeChild = sqlStatement(
    sql`delete from children where parent_id = ${sql.placeholder('id')}`,
  )
  const add = (id: number) =>
    nodes[0].transaction(async (tx) => {
      if ((await tx.run(change, { id })).affectedRows === 0) return
      for (let nth = 0; nth < 40; nth += 1)
        await tx.rows(sqlStatement(sql.raw(`select n + ${nth} from parents where id = ${id}`)), {})
      await tx.run(insert, { id })
    })
  const end = async (id: number) => {
    await sleep(Math.random() * 10)
    await nodes[1].transaction(async (tx) => {
      await tx.run(change, { id })
      await tx.run(removeChild, { id })
      await tx.run(remove, { id })
    })
  }
  for (let id = 1; id <= 150; id += 1) {
    await nodes[0].orm.execute(sql`insert into parents values (${id}, 0)`)
    await rowsOn(1)
    await Promise.all([add(id), end(id)])
  }

  expect(await rowsOf('select * from children')).toEqual([])
}, 60_000)

test.runIf(isFullRun)(
  'programs miss nothing of each other while one of them takes the writer from the other',
  async () => {
    await passOverWriter(galera, nodes[0])
  },
  90_000,
)

describe('clients of the whole cluster', () => {
  /** Increments a counter until it is stopped; counts the answers, and measures the longest time without one. */
  class Counting implements AsyncDisposable {
    answered = 0
    longestMs = 0
    readonly failures: unknown[] = []
    readonly #db: Database
    readonly #id: number
    #isOver = false
    readonly #work: Promise<unknown>

    constructor(id: number) {
      this.#id = id
      const url = galera.url('weir')
      this.#db = new Database({ url, connectionsMax: 4, retryMs: 20_000, marksCommits: true })
      this.#work = Promise.all([this.#count(), this.#count()])
    }

    async stop(): Promise<void> {
      this.#isOver = true
      await this.#work
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.stop()
      await this.#db[Symbol.asyncDispose]()
    }

    async #count(): Promise<void> {
      while (!this.#isOver) {
        const begun = performance.now()
        try {
          await this.#db.transaction(async (tx) => {
            await tx.orm.execute(sql`update counters set n = n + 1 where id = ${this.#id}`)
          })
          this.answered += 1
        } catch (error) {
          this.failures.push(error)
        }
        this.longestMs = Math.max(this.longestMs, performance.now() - begun)
      }
    }
  }

  const FAULTS: Readonly<Record<string, (writer: number) => Promise<() => Promise<void>>>> = {
    'is killed': async (writer) => {
      await galera.kill(writer)
      return () => galera.start(writer)
    },
    'is frozen': async (writer) => {
      galera.freeze(writer)
      return async () => galera.thaw(writer)
    },
    'is cut off from the others': async (writer) => {
      await galera.setPartitioned(writer, true)
      return () => galera.setPartitioned(writer, false)
    },
    'is stopped': async (writer) => {
      await galera.stop(writer)
      return () => galera.start(writer)
    },
  }

  // The short run loses the writer of a whole control plane instead.
  test.runIf(isFullRun).each(Object.entries(FAULTS))(
    'lose no change and repeat none where the writer %s',
    async (name, fault) => {
      await nodes[0].orm.execute(
        sql`create table if not exists counters (id int primary key, n int not null)`,
      )
      const id = 100 + Object.keys(FAULTS).indexOf(name)
      await nodes[0].orm.execute(sql`insert into counters values (${id}, 0)`)
      await using counting = new Counting(id)
      await expect.poll(() => counting.answered).toBeGreaterThan(20)

      const heal = await fault(await galera.writer())
      const before = counting.answered
      await expect.poll(() => counting.answered).toBeGreaterThan(before + 20)
      await heal()
      await galera.whenWhole()
      const { answered } = counting
      await expect.poll(() => counting.answered).toBeGreaterThan(answered + 20)
      await counting.stop()

      expect(counting.failures).toEqual([])
      await expect
        .poll(() => rowsOf(`select n from counters where id = ${id}`))
        .toEqual([{ n: counting.answered }])
      log.info({ fault: name, longest_ms: Math.round(counting.longestMs) }, 'longest gap')
    },
  )
})

test.runIf(isFullRun)('a node that was killed returns with all writes that it missed', async () => {
  await galera.kill(2)
  await nodes[0].orm.execute(sql`create table missed (id int primary key)`)
  await nodes[0].orm.execute(sql`insert into missed values (1)`)

  await galera.start(2)

  const connection = await createConnection({ uri: `${galera.rootUrls[2]!}weir` })
  const [rows] = await connection.query<RowDataPacket[]>('select id from missed')
  await connection.end()
  expect(rows).toEqual([{ id: 1 }])
})
