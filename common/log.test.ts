import { expect, test } from 'vitest'
import { Failure } from './errors.ts'
import { createLogger, errorFields } from './log.ts'

function recorder(): { readonly lines: string[]; write(line: string): void } {
  const lines: string[] = []
  return { lines, write: (line) => void lines.push(line) }
}

const CANARY = 'canary-4711'

test.each([
  ['a header', { headers: { 'X-Auth-Token': CANARY, 'x-subject-token': CANARY } }],
  ['a header of a proxy', { headers: { Authorization: `Bearer ${CANARY}`, Cookie: CANARY } }],
  [
    'a login',
    { body: { auth: { identity: { password: { user: { name: 'demo', password: CANARY } } } } } },
  ],
  ['a token login', { body: { auth: { identity: { token: { id: CANARY } } } } }],
  ['a new server', { body: { server: { adminPass: CANARY, user_data: CANARY } } }],
  [
    'a build',
    { ask: { build: { adminPassword: CANARY, userData: CANARY, image: { ticket: CANARY } } } },
  ],
  ['a list', { bodies: [{ server: { personality: [{ contents: CANARY }] } }] }],
  ['a configuration', { config: { databaseUrl: CANARY, secretKey: CANARY, seed: CANARY } }],
])('the secrets of %s are not logged, at any level and depth', (_, fields) => {
  const to = recorder()

  createLogger('test', 'debug', to).debug(fields, 'request')

  expect(to.lines).toHaveLength(1)
  expect(to.lines[0]).not.toContain(CANARY)
  expect(to.lines[0]).toContain('[redacted]')
})

test('a line is one JSON object with time, level, name, fields and message', () => {
  const to = recorder()
  const fields = { request_id: 'req-1', when: new Date(0), list: [1, { a: null }] }

  createLogger('test', 'info', to).child({ cell: 'north' }).warn(fields, 'several\nlines')

  const [line = ''] = to.lines
  expect(line.trimEnd()).not.toContain('\n')
  expect(JSON.parse(line)).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    name: 'test',
    cell: 'north',
    request_id: 'req-1',
    when: '1970-01-01T00:00:00.000Z',
    list: [1, { a: null }],
    msg: 'several\nlines',
  })
})

test('a failure is logged with its causes and kind, a bug also with its stack', () => {
  const cause = new Error('connection lost')
  const failure = new Failure('unavailable', 'The database did not answer.', { cause })

  expect(errorFields(failure)).toEqual({
    kind: 'unavailable',
    error: 'The database did not answer: connection lost',
  })
  expect(errorFields(cause)).toMatchObject({ kind: 'internal', stack: expect.any(String) })
})

test('a failure that repeats is written twice a minute, with how often it came', () => {
  const to = recorder()
  let now = 0
  const log = createLogger('test', 'info', to, { elapsed: () => now })
  const fail = (server_id: string) => log.child({ server_id }).warn({ error: 'full' }, 'failed')

  for (now = 0; now <= 60_000; now += 10_000) fail('one')
  fail('two')
  log.warn({ error: 'full' }, 'failed elsewhere')
  log.info('no failure')
  log.info('no failure')

  const records = to.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(records.map(({ server_id, msg, repeats }) => [server_id, msg, repeats])).toEqual([
    ['one', 'failed', undefined],
    ['one', 'failed', 3],
    ['one', 'failed', 3],
    ['two', 'failed', undefined],
    [undefined, 'failed elsewhere', undefined],
    [undefined, 'no failure', undefined],
    [undefined, 'no failure', undefined],
  ])
})
