import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { contractOf } from '../contract.ts'
import type { Microversion } from '../microversions.ts'

const compute = contractOf('compute')
const create = compute.operation('createServer')
const FIELDS = [
  'name',
  'flavorRef',
  'networks',
  'metadata',
  'tags',
  'personality',
  '__proto__',
  'constructor',
]
const VERSIONS: readonly Microversion[] = ['2.1', '2.32', '2.37', '2.52', '2.93']

function onlyInvalid(act: () => unknown): void {
  try {
    act()
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    expect(error.message).toMatch(/^(Invalid input|A JSON request body)/)
  }
}

test('any JSON at all is read or refused with an explanation', () => {
  const server = fc.dictionary(fc.constantFrom(...FIELDS), fc.jsonValue())
  const body = fc.oneof(fc.jsonValue(), fc.record({ server }))
  fc.assert(
    fc.property(body, fc.constantFrom(...VERSIONS), (value, version) => {
      onlyInvalid(() => create.request(version).validateBody(JSON.parse(JSON.stringify(value))))
    }),
  )
})

test('any query at all is read or refused with an explanation', () => {
  const name = fc.oneof(
    fc.constantFrom('limit', 'name', 'status', 'deleted', '__proto__'),
    fc.string(),
  )
  const pairs = fc.array(fc.tuple(name, fc.string()), { maxLength: 6 })
  fc.assert(
    fc.property(pairs, fc.constantFrom(...VERSIONS), (query, version) => {
      const request = compute.operation('listServers').request(version)
      onlyInvalid(() => request.validateQuery(new URLSearchParams(query)))
    }),
  )
})

test('a body with very many wrong items is explained without delay, in a few sentences', () => {
  const networks = Array.from({ length: 20_000 }, () => ({ fixed_ip: 'x' }))
  const validate = () =>
    create.request('2.93').validateBody({ server: { name: 'a', flavorRef: '1', networks } })
  expect(validate).toThrow(/networks\[0\]\.fixed_ip': it has none of the permitted forms\./)
})
