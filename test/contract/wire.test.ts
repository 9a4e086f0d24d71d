import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { CELL_OPERATIONS } from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import { CONSOLE_OPERATIONS } from '#openapi/wire/console.ts'
import { CellHeartbeat, FeedBatch } from '#openapi/wire/feed.ts'
import { GuestPassword } from '#openapi/wire/guest-password.ts'
import { HOST_OPERATIONS, HostAlive, HostReport, InstancePower } from '#openapi/wire/host.ts'
import { LOOKUP_OPERATIONS } from '#openapi/wire/lookup.ts'
import { NODE_OPERATIONS } from '#openapi/wire/node.ts'
import { WIRE_VERSION } from '#openapi/wire.ts'

/**
 * Payloads as releases have sent them. A file is never changed once its release is out: a gateway, a cell and a host
 * may be one release apart, so what was sent then must be understood now.
 */
type Payloads = readonly object[]
interface Sent {
  readonly cell: Readonly<Record<string, { readonly ask: Payloads; readonly answer: Payloads }>>
  readonly host: Readonly<Record<string, { readonly ask: Payloads; readonly answer: Payloads }>>
  readonly console: Readonly<Record<string, { readonly ask: Payloads; readonly answer: Payloads }>>
  readonly lookup: Readonly<Record<string, { readonly ask: Payloads; readonly answer: Payloads }>>
  readonly node: Readonly<Record<string, { readonly ask: Payloads; readonly answer: Payloads }>>
  readonly word: Readonly<Record<string, Payloads>>
}

const file = new URL(`wire/v${WIRE_VERSION}.json`, import.meta.url)
const sent = JSON.parse(readFileSync(file, 'utf8')) as Sent

type Operations = Readonly<Record<string, { readonly ask: TSchema; readonly answer: TSchema }>>
const OPERATIONS: Readonly<Record<'cell' | 'host' | 'console' | 'lookup' | 'node', Operations>> = {
  cell: CELL_OPERATIONS,
  host: HOST_OPERATIONS,
  console: CONSOLE_OPERATIONS,
  lookup: LOOKUP_OPERATIONS,
  node: NODE_OPERATIONS,
}
const WORDS = {
  alive: HostAlive,
  'guest-password': GuestPassword,
  power: InstancePower,
  report: HostReport,
  feed: FeedBatch,
  heartbeat: CellHeartbeat,
}

const contracts = [
  ...(['cell', 'host', 'console', 'lookup', 'node'] as const).flatMap((whom) =>
    Object.entries(OPERATIONS[whom]).flatMap(([name, operation]) =>
      (['ask', 'answer'] as const).map((part): [string, TSchema, Payloads | undefined] => [
        `${whom} ${name} ${part}`,
        operation[part],
        sent[whom][name]?.[part],
      ]),
    ),
  ),
  ...Object.entries(WORDS).map(([name, schema]): [string, TSchema, Payloads | undefined] => [
    name,
    schema,
    sent.word[name],
  ]),
]

function isA(schema: TSchema, payload: unknown): boolean {
  try {
    checked(schema, payload, '')
    return true
  } catch {
    return false
  }
}

describe.each(contracts)('%s', (name, schema, payloads = []) => {
  test('is understood as it was sent, in every variant there is', () => {
    const variants = (schema as { readonly anyOf?: readonly TSchema[] }).anyOf ?? [schema]

    for (const payload of payloads) expect(checked(schema, payload, name)).toEqual(payload)
    for (const variant of variants)
      expect(payloads).toContainEqual(expect.toSatisfy((each) => isA(variant, each)))
  })

  test('is understood when a later release says more', () => {
    for (const payload of payloads)
      expect(() => checked(schema, { ...payload, addedLater: true }, name)).not.toThrow()
  })
})
