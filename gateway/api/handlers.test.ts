import { describe, expect, test } from 'vitest'
import { loadContract } from '#openapi/contract.ts'
import { presentDocuments } from '#openapi/load-document.ts'
import { HANDLERS, STREAMING } from './handlers.ts'

const contracts = presentDocuments().map(loadContract)

describe.each(contracts.map((contract) => [contract.name, contract] as const))(
  '%s',
  (name, contract) => {
    const handled = HANDLERS[name]
    const ids = contract.operations.map(({ id }) => id)

    test('every operation of the document has a handler', () => {
      expect(ids.filter((id) => handled[id] === undefined)).toEqual([])
    })

    test('every handler is for an operation of the document', () => {
      expect(Object.keys(handled).filter((id) => !ids.includes(id))).toEqual([])
    })
  },
)

test('every streaming operation exists', () => {
  const ids = new Set(contracts.flatMap(({ operations }) => operations.map(({ id }) => id)))

  expect([...STREAMING].filter((id) => !ids.has(id))).toEqual([])
})
