import { closeSync, mkdtempSync, openSync, readFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { boundLog, boundLogOf } from './bound-log.ts'

test('a log that has grown too large begins again, and the former one is kept', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-log-')), 'a.log')
  const log = openSync(file, 'a', 0o600)
  const contents = () => readFileSync(file, 'utf8')

  writeSync(log, 'first\n')
  boundLog(log, 10)
  expect(contents()).toBe('first\n')

  writeSync(log, 'second\n')
  boundLog(log, 10)
  writeSync(log, 'third\n')
  expect(contents()).toBe('third\n')
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('first\nsecond\n')

  writeSync(log, 'fourth\n')
  boundLog(log, 10)
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('third\nfourth\n')
  closeSync(log)
})

test('a log that its program does not bound stays where it is', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-log-')), 'b.log')
  boundLogOf(file, 3)
  const log = openSync(file, 'a', 0o600)
  writeSync(log, 'first\n')

  boundLogOf(file, 3)
  writeSync(log, 'second\n')

  expect(readFileSync(file, 'utf8')).toBe('second\n')
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('first\n')
  closeSync(log)
})
