import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { sourceFiles } from '#test/tidy/source-files.ts'
import { type Entry, RunRecord, type Write } from '../record/record.ts'
import { compare, type Wrong } from './compare.ts'
import {
  gone as goneFrom,
  guest,
  indexed,
  instance,
  OTHER,
  type Planted,
  PORT,
  PROJECT,
  port,
  SERVER,
  server,
  there as thereIn,
} from './planted.ts'
import type { Snapshot } from './snapshot.ts'

// Goal: the comparison reports every planted fault of a deployment, and none in a correct one.

const folder = mkdtempSync(join(tmpdir(), 'weir-compare-'))
let record: RunRecord

afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => {
  record = new RunRecord(join(folder, 'requests.jsonl'))
})

/** A request in the seconds from `at` to `at + 1`, on record and audited under its path. */
function asked(path: string, at: number, more: Partial<Entry>): Entry {
  const entry: Entry = {
    n: record.entries.length,
    requestId: path,
    user: 'user',
    gateway: 'gateway-1',
    method: 'POST',
    path,
    status: 200,
    message: '',
    startMs: at * 1_000,
    endMs: (at + 1) * 1_000,
    writes: [],
    ...more,
  }
  record.add(entry)
  return entry
}

function write(field: string, value: Write['value'], thing = `server:${SERVER}`): Write {
  return { thing, field, value }
}

function booted(more: Partial<Entry> = {}): Entry {
  const makes = { type: 'server', name: 'web', projectId: PROJECT } as const
  const writes = [write('exists', true), write('name', 'web')]
  return asked('boot', 1, { status: 202, makes, writes, ...more })
}

const there = (planted: Planted = {}) => thereIn(record, planted)
const gone = () => goneFrom(record)

function found(snapshot: Snapshot): readonly (readonly [Wrong['kind'], string])[] {
  return compare(snapshot, record).map(({ kind, text }) => [kind, text])
}

test('nothing is wrong where all is as it was answered', () => {
  booted()

  expect(found(there())).toEqual([])
})

describe('servers', () => {
  test('one that was promised and is nowhere is lost, and its request is named', () => {
    booted()

    const text = `server ${SERVER} was promised and is gone`
    expect(compare(gone(), record)).toEqual([{ kind: 'lost', text, requests: ['boot'] }])
  })

  test('one whose guest is on no host is lost', () => {
    booted()

    const guests = { 'north-1': [], 'north-2': [] }
    expect(found(there({ cell: { guests } }))).toEqual([['lost', expect.stringContaining(SERVER)]])
  })

  test('a deleted server that still exists is leaked', () => {
    booted()
    asked('delete', 3, { status: 204, writes: [write('exists', false)] })

    expect(found(there())).toEqual([['leaked', `server ${SERVER} was deleted and is there`]])
  })

  test.each(['there', 'gone'])('one whose delete was not answered may be %s', (which) => {
    booted()
    asked('delete', 3, { status: 0, writes: [write('exists', false)] })

    expect(found(which === 'gone' ? gone() : there())).toEqual([])
  })

  test('one on two hosts is doubled', () => {
    booted()

    const guests = { 'north-1': [guest()], 'north-2': [guest()] }
    expect(found(there({ cell: { guests } }))).toEqual([
      ['doubled', `server ${SERVER} is a guest of north-1 and north-2`],
    ])
  })

  test('one in two cells is doubled', () => {
    booted()
    const snapshot = there()
    const second = { ...snapshot.cells[0]!, id: 'other', name: 'south' }

    const wrong = found({ ...snapshot, cells: [...snapshot.cells, second] })
    expect(wrong).toContainEqual(['doubled', `server ${SERVER} is in north and south`])
  })

  test('a second one of the same request is doubled', () => {
    booted()
    const servers = [server(), server({ id: OTHER, addresses: [] })]

    expect(found(there({ api: { servers } }))).toEqual([
      ['doubled', `server ${OTHER} came from what was answered with another`],
    ])
  })

  test('one server of a boot without an answer is right, two are wrong', () => {
    booted({ status: 0, writes: [] })
    const servers = [server(), server({ id: OTHER, addresses: [] })]

    expect(found(there())).toEqual([])
    expect(found(there({ api: { servers } })).map(([kind]) => kind)).toEqual(['doubled'])
  })

  test('a refused server that exists is a wrong answer', () => {
    booted({ status: 409, writes: [] })

    expect(found(there()).map(([kind]) => kind)).toEqual(['wrong answer'])
  })

  test('a guest that its cell does not have is leaked', () => {
    booted()
    const guests = { 'north-1': [guest(), guest({ id: OTHER })], 'north-2': [] }

    expect(found(there({ cell: { guests } }))).toEqual([
      ['leaked', `north-1 keeps guest ${OTHER}, which north does not have`],
    ])
  })

  test('a state that cell, gateway and host do not share is a wrong answer', () => {
    booted()

    expect(found(there({ gateway: { index: [indexed({ vmState: 'stopped' })] } }))).toEqual([
      ['wrong answer', expect.stringContaining('is shown stopped')],
    ])
    const guests = { 'north-1': [guest({ powerState: 'shutdown' })], 'north-2': [] }
    expect(found(there({ cell: { guests } }))).toEqual([
      ['wrong answer', expect.stringContaining('its guest on north-1 is shutdown')],
    ])
  })

  test('unfinished work counts as stuck', () => {
    booted()
    const saving = { id: OTHER, name: 'snapshot-1', fields: { status: 'saving' } }
    const openSagas = [{ name: 'boot', state: 'running', subject: SERVER }]

    expect(found(there({ gateway: { openSagas } }))).toEqual([
      ['stuck', `saga boot of ${SERVER} is running`],
    ])
    const things = { ...there().api.things, image: [saving] }
    expect(found(there({ api: { things } }))).toEqual([
      ['stuck', `image ${OTHER}, which a server was to fill, is saving`],
    ])
    expect(found(there({ cell: { instances: [instance({ taskState: 'pausing' })] } }))).toEqual([
      ['stuck', `server ${SERVER} is still being changed in north`],
    ])
  })
})

describe('fields', () => {
  const named = (name: string) => there({ api: { servers: [server({ name })] } })

  test('the last that was answered well stands', () => {
    booted()
    asked('rename', 3, { writes: [write('name', 'shop')] })

    expect(found(named('shop'))).toEqual([])
    expect(found(named('web'))).toEqual([
      ['wrong answer', `server ${SERVER} has name "web", answered was "shop"`],
    ])
  })

  test('of two concurrent changes either is right, and no earlier value is', () => {
    booted()
    asked('first', 3, { writes: [write('name', 'shop')] })
    asked('second', 3.5, { writes: [write('name', 'store')] })

    expect(found(named('shop'))).toEqual([])
    expect(found(named('store'))).toEqual([])
    expect(found(named('web'))).toHaveLength(1)
  })

  test('one that was not answered may stand over a later one, one that was refused never', () => {
    booted()
    asked('lost', 3, { status: 503, writes: [write('name', 'late')] })
    asked('refused', 4, { status: 409, writes: [write('name', 'never')] })
    asked('rename', 5, { writes: [write('name', 'shop')] })

    expect(found(named('late'))).toEqual([])
    expect(found(named('never'))).toHaveLength(1)
  })
})

describe('ports, ledgers and trails', () => {
  beforeEach(() => {
    booted()
  })

  test('a port of a server that is gone is leaked', () => {
    const ports = [port(), port({ id: OTHER, deviceId: OTHER })]

    expect(found(there({ gateway: { ports } }))).toEqual([
      ['leaked', `port ${OTHER} belongs to ${OTHER}, which is gone`],
    ])
  })

  test('an address without its port is leaked, one that its server does not show a wrong answer', () => {
    const address = { portId: PORT, address: '10.0.0.2' }
    const addresses = [address, { portId: OTHER, address: '10.0.0.9' }]

    expect(found(there({ gateway: { addresses } })).map(([kind]) => kind)).toEqual(['leaked'])
    const second = [address, { portId: PORT, address: '10.0.0.3' }]
    expect(found(there({ gateway: { addresses: second } })).map(([kind]) => kind)).toEqual([
      'wrong answer',
    ])
  })

  test('a port that is not bound where its server runs is a wrong answer', () => {
    const ports = [port({ status: 'DOWN', host: '' })]

    expect(found(there({ gateway: { ports } })).map(([kind]) => kind)).toEqual(['wrong answer'])
  })

  test('a quota whose usage differs from a fresh count, or is above its limit, is miscounted', () => {
    const quota = { owner: PROJECT, resource: 'port', used: 2, counted: 3, limit: 2 }

    expect(found(there({ gateway: { quotas: [quota] } }))).toEqual([
      ['miscounted', 'quota of project counts 2 port, there are 3'],
      ['miscounted', 'project has 3 port, its limit is 2'],
    ])
  })

  test('allocations without a server, or that a host does not count, are found', () => {
    const held = { consumerId: SERVER, provider: 'north-1', resourceClass: 'VCPU', used: 1 }
    const allocations = [held, { ...held, consumerId: OTHER }]

    expect(found(there({ cell: { allocations } })).map(([kind]) => kind)).toEqual([
      'leaked',
      'miscounted',
    ])
  })

  test('a change that was answered well and is not on the audit record, or twice, is unrecorded', () => {
    const row = { requestId: 'boot', status: 202 }

    expect(found(there({ gateway: { audit: [] } }))).toEqual([
      ['unrecorded', "POST boot, answered 202, is not on the audit's record"],
    ])
    expect(found(there({ gateway: { audit: [row, row] } }))).toHaveLength(1)
  })

  test('an answer of 500 is wrong, one of 503 is not', () => {
    asked('broken', 3, { status: 500 })
    asked('away', 3, { status: 503 })

    expect(found(there())).toEqual([['wrong answer', 'POST broken was answered 500']])
  })

  test('an act that its server does not list is unrecorded', () => {
    asked('stop', 3, { status: 202, act: { serverId: SERVER, name: 'stop' } })

    expect(found(there())).toEqual([
      ['unrecorded', `stop of server ${SERVER}, answered 202, is not among its actions`],
    ])
  })

  test('violations observed during the run are reported', () => {
    record.addWrong(record.entries[0]!, 'it was read otherwise')

    expect(found(there())).toEqual([['wrong answer', 'it was read otherwise']])
  })
})

test('the comparison shares no code with the product: only the start of a deployment imports the launcher', () => {
  const broken = sourceFiles()
    .filter(({ path }) => path.startsWith('test/reliability/'))
    .flatMap(({ path, imports }) => imports.map((target) => [path, target] as const))
    .filter(([path, target]) =>
      path.startsWith('test/reliability/deployment/')
        ? /^(common|openapi|drivers|cells|gateway)\//.test(target)
        : /^(common|openapi|drivers|cells|gateway|deploy)\//.test(target),
    )

  expect(broken).toEqual([])
})
