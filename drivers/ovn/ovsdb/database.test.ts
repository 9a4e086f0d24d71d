import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { OvsdbServer, whyNoOvsdb } from '#test/env/ovsdb-server.ts'
import { makeCertificates } from '#test/real/certificates.ts'
import { OvsdbDatabase, type OvsdbOptions } from './database.ts'

const log = createLogger('ovsdb', 'silent')
const TABLES = {
  Logical_Switch: ['name', 'ports', 'external_ids'],
  Logical_Switch_Port: ['name', 'addresses', 'enabled', 'external_ids', 'no_such_column'],
  No_Such_Table: ['name'],
}
const why = whyNoOvsdb()

const insertSwitch = (name: string, more: object = {}) => ({
  op: 'insert',
  table: 'Logical_Switch',
  row: { name, ...more },
})

describe.skipIf(why !== undefined)(`a replica of an OVSDB database${why ?? ''}`, () => {
  let server: OvsdbServer
  const open = (more: Partial<OvsdbOptions> = {}) =>
    OvsdbDatabase.open({
      address: server.address,
      name: 'OVN_Northbound',
      tables: TABLES,
      clock: systemClock,
      log,
      ...more,
    })
  const names = (database: OvsdbDatabase) =>
    [...database.table('Logical_Switch').values()].map(({ name }) => name)

  beforeAll(async () => {
    server = await OvsdbServer.start('OVN_Northbound')
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  test('it follows inserts, changes of sets and maps, and deletes of another client', async () => {
    await using writer = await open()
    await using reader = await open()
    const signal = AbortSignal.timeout(20_000)
    const find = () =>
      [...reader.table('Logical_Switch').values()].find(({ name }) => name === 'follow-äöü')
    const where = [['name', '==', 'follow-äöü']]
    const ids = (entries: object) => ['map', Object.entries(entries)]

    await writer.transact([insertSwitch('follow-äöü', { external_ids: ids({ a: '1', b: '2' }) })])
    await reader.until(() => find() !== undefined, signal)
    expect(find()).toEqual({ name: 'follow-äöü', ports: [], external_ids: { a: '1', b: '2' } })

    await writer.transact([
      {
        op: 'insert',
        table: 'Logical_Switch_Port',
        'uuid-name': 'port',
        row: { name: 'port', addresses: ['set', ['one', 'two']] },
      },
      {
        op: 'update',
        table: 'Logical_Switch',
        where,
        row: { external_ids: ids({ b: '3', c: '4' }), ports: ['named-uuid', 'port'] },
      },
    ])
    await reader.until(() => JSON.stringify(find()?.['ports'] ?? []) !== '[]', signal)
    expect(find()?.['external_ids']).toEqual({ b: '3', c: '4' })
    const [[uuid, port] = []] = reader.table('Logical_Switch_Port')
    expect(find()?.['ports']).toEqual([uuid])
    expect(port).toEqual({
      name: 'port',
      addresses: expect.toSatisfy((all: string[]) => all.toSorted().join() === 'one,two'),
      enabled: null,
      external_ids: {},
    })

    const onPort = [['name', '==', 'port']]
    await writer.transact([
      {
        op: 'mutate',
        table: 'Logical_Switch_Port',
        where: onPort,
        mutations: [
          ['addresses', 'delete', 'one'],
          ['addresses', 'insert', 'three'],
        ],
      },
      { op: 'update', table: 'Logical_Switch_Port', where: onPort, row: { enabled: false } },
    ])
    const portNow = () => [...reader.table('Logical_Switch_Port').values()][0]
    await reader.until(() => portNow()?.['enabled'] === false, signal)
    expect(new Set(portNow()!['addresses'] as string[])).toEqual(new Set(['three', 'two']))

    await writer.transact([{ op: 'delete', table: 'Logical_Switch', where }])
    await reader.until(() => reader.table('Logical_Switch_Port').size === 0, signal)
    expect(find()).toBeUndefined()
  })

  test('many clients that open while others write end with the same rows', async () => {
    await using writer = await open()
    let isWriting = true
    const writes = (async () => {
      for (let number = 0; isWriting; number += 1)
        await writer.transact([insertSwitch(`busy-${number}`)])
    })()
    const readers = await Promise.all(Array.from({ length: 20 }, () => open()))
    isWriting = false
    await writes
    await writer.transact([insertSwitch('busy-last')])

    const signal = AbortSignal.timeout(20_000)
    await Promise.all(
      readers.map((each) => each.until(() => names(each).includes('busy-last'), signal)),
    )
    const all = new Set(names(writer))
    for (const reader of readers) {
      expect(new Set(names(reader))).toEqual(all)
      expect(names(reader)).toHaveLength(all.size)
      await reader[Symbol.asyncDispose]()
    }
  })

  test('a transaction is whole or nothing, and its failures have kinds', async () => {
    await using database = await open()
    const wait = (until: string) => ({
      op: 'wait',
      timeout: 0,
      table: 'Logical_Switch',
      where: [['name', '==', 'guarded']],
      columns: ['name'],
      until,
      rows: [{ name: 'guarded' }],
    })

    await expect(database.transact([insertSwitch('half'), wait('==')])).rejects.toMatchObject({
      kind: 'conflict',
    })
    await expect(
      database.transact([insertSwitch('half'), insertSwitch('half', { nonsense: 1 })]),
    ).rejects.toMatchObject({ kind: 'internal', detail: expect.stringContaining('nonsense') })
    expect(names(database)).not.toContain('half')

    const [, result] = await database.transact([wait('!='), insertSwitch('guarded')])
    expect(database.table('Logical_Switch').has(result!.uuid![1])).toBe(true)
    await expect(
      database.transact([insertSwitch('late')], AbortSignal.abort(new Error('told to end'))),
    ).rejects.toThrow('told to end')
  })

  test('it reconnects after the server was down, and has the changes made in between', async () => {
    await using database = await open()
    await database.transact([insertSwitch('before')])
    const kept = names(database)
    await server.down()
    await expect.poll(() => database.isConnected).toBe(false)
    expect(names(database)).toEqual(kept)
    await expect(database.transact([insertSwitch('never')])).rejects.toMatchObject({
      kind: 'unavailable',
    })

    await server.up()
    await using other = await open()
    await other.transact([
      insertSwitch('after'),
      { op: 'delete', table: 'Logical_Switch', where: [['name', '==', 'before']] },
    ])

    await expect.poll(() => names(database)).toContain('after')
    expect(names(database)).not.toContain('before')
  })

  test('no server at the address: unavailable, with the address', async () => {
    await expect(open({ address: `unix:${server.folder}/nothing` })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(`${server.folder}/nothing`),
    })
  })

  test('behind TLS it shows its certificate, and believes its own authority alone', async () => {
    const { ca, server: own, client, stranger } = await makeCertificates(server.folder)
    const port = await freePort()
    await using secure = await OvsdbServer.start('OVN_Northbound', [
      `--remote=pssl:${port}:127.0.0.1`,
      ...['-p', own.key, '-c', own.cert, '-C', ca],
    ])
    const address = `ssl:127.0.0.1:${port}`
    const tls = { caFile: ca, certificateFile: client.cert, keyFile: client.key }

    await using database = await open({ address, tls })
    await database.transact([insertSwitch('secret')])
    expect(names(database)).toEqual(['secret'])

    const foreign = { ...tls, certificateFile: stranger.cert, keyFile: stranger.key }
    await expect(open({ address, tls: foreign })).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(open({ address, tls: { ...tls, caFile: stranger.cert } })).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await expect(open({ address })).rejects.toMatchObject({ kind: 'invalid' })
    const missing = { ...tls, keyFile: join(secure.folder, 'nothing.key') }
    await expect(open({ address, tls: missing })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('nothing.key'),
    })
  })
})
