import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lastLogLine } from './last-log-line.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-words-'))
const file = join(directory, 'program.log')

afterAll(() => rmSync(directory, { recursive: true }))

const info = '{"level":"info","time":"2026-11-23T20:00:00.000Z","name":"cell","msg":"cell serves"}'

test.each([
  [
    'the last error of a log',
    [info, '{"level":"error","msg":"ended","error":"no disk"}', info],
    'ended: no disk',
  ],
  [
    'a crash',
    [
      info,
      'Error: listen EADDRINUSE',
      '    at Server.setup (node:net:1)',
      '  errno: -98,',
      '}',
      'Node.js v24.21.0',
    ],
    'Error: listen EADDRINUSE',
  ],
  ['a wrong setting', ['Configuration:', '  CELL_NAME is not set'], 'CELL_NAME is not set'],
  [
    'a wrong setting of another kind',
    [info, 'Configuration:', '  CELL_SECRET_KEY: 64 hexadecimal digits are needed'],
    'CELL_SECRET_KEY: 64 hexadecimal digits are needed',
  ],
  ['a log without errors', [info, '[1] 20:00 [WRN] error checking for JetStream'], undefined],
  ['an old error', ['Error: of yesterday', ...Array(20).fill(info)], undefined],
])('lastLogLine() of %s', (_what, lines, words) => {
  writeFileSync(file, `${lines.join('\n')}\n`)

  expect(lastLogLine(file)).toBe(words)
})

test('lastLogLine() of a program without a log', () => {
  expect(lastLogLine(join(directory, 'none'))).toBeUndefined()
})
