import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type LogFile, type LogFilter, mergedLines } from './merged-logs.ts'

// Goal: an operator reads what several programs logged as one story.

const folder = mkdtempSync(join(tmpdir(), 'weir-logs-'))
afterAll(() => rmSync(folder, { recursive: true }))

function log(
  process: string,
  lines: readonly (object | string)[],
  former: readonly object[] = [],
): LogFile {
  const path = join(folder, `${process}.log`)
  const text = (all: readonly (object | string)[]) =>
    all.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
  writeFileSync(path, text(lines))
  if (former.length > 0) writeFileSync(`${path}.1`, text(former))
  return { process, path }
}

const at = (second: number, level: string, msg: string, more: object = {}) => ({
  level,
  time: `2026-01-31T12:00:0${second}.000Z`,
  msg,
  ...more,
})

const [server_id, request_id] = ['the-server', 'req-one']
const files = [
  log(
    'gateway-1',
    [
      at(1, 'info', 'asked', { request_id }),
      at(4, 'error', 'broke'),
      'Error: broke',
      '    at file.ts:1',
    ],
    [at(0, 'debug', 'begun')],
  ),
  log('cell-north', [at(2, 'info', 'built', { server_id, request_id }), at(5, 'warn', 'slow')]),
]
const messages = async (filter: LogFilter = {}, max = 100) =>
  (await mergedLines(files, filter, max)).map((line) =>
    line.startsWith('{') ? (JSON.parse(line) as { msg: string }).msg : line,
  )

test('lines of all programs come in the order of their times, text of a program behind its line', async () => {
  expect(await messages()).toEqual([
    'begun',
    'asked',
    'built',
    'broke',
    'gateway-1: Error: broke',
    'gateway-1:     at file.ts:1',
    'slow',
  ])
  expect(await messages({}, 2)).toEqual(['gateway-1:     at file.ts:1', 'slow'])
})

test('each line names its process', async () => {
  const [first] = await mergedLines(files, { request: request_id }, 1)
  expect(JSON.parse(first!)).toMatchObject({ from: 'cell-north', msg: 'built' })
})

test.each([
  [{ level: 'warn' }, ['broke', 'slow']],
  [{ since: '2026-01-31T12:00:05.000Z' }, ['slow']],
  [{ until: '2026-01-31T12:00:01.500Z' }, ['begun', 'asked']],
  [{ server: server_id }, ['built']],
  [{ request: request_id }, ['asked', 'built']],
  [{ request: request_id, server: server_id, level: 'error' }, []],
] as const)('%j', async (filter, expected) => {
  expect(await messages(filter)).toEqual(expected)
})

test('a line that is being written is text until it is whole', async () => {
  const file = log('half', [])
  appendFileSync(file.path, '{"level":"info"')
  expect(await mergedLines([file], {}, 10)).toEqual(['half: {"level":"info"'])
})
