import { Ajv2020 } from 'ajv/dist/2020.js'
import { Type } from 'typebox'
import { afterEach, expect, test, vi } from 'vitest'
import { Failure } from '#common/errors.ts'
import { checked, compileChecks } from './checked.ts'

// Goal: what breaks the contract is refused by name, and a process may compile its checks before it has something to check.

afterEach(() => {
  vi.restoreAllMocks()
})

const aSchema = () => Type.Object({ rows: Type.Array(Type.Object({ n: Type.Integer() })) })

test('a value of the contract is answered, and another refused with the place where it breaks it', () => {
  const schema = aSchema()

  expect(checked(schema, { rows: [{ n: 1 }] }, 'feed batch')).toEqual({ rows: [{ n: 1 }] })
  expect(() => checked(schema, { rows: [{ n: 'one' }] }, 'feed batch')).toThrow(
    new Failure('invalid', 'feed batch breaks the contract: data/rows/0/n must be integer'),
  )
})

test('checks that were compiled are not compiled when the first value comes', () => {
  const schema = aSchema()
  const compile = vi.spyOn(Ajv2020.prototype, 'compile')

  compileChecks([schema])
  expect(compile).toHaveBeenCalledTimes(1)
  checked(schema, { rows: [] }, 'feed batch')

  expect(compile).toHaveBeenCalledTimes(1)
})
