import { expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { createLogger } from '#common/log.ts'
import { spanMeasure } from '#common/trace/span.ts'
import { logAnswer } from './log-answer.ts'

const ID = '01a1ff41-2069-4605-8cdc-5e0eef8ca4a4'
const SERVERS = '/compute/v2.1/servers'

function logged(
  asked: { readonly method?: string; readonly status?: number; readonly path?: string },
  location: string | null = null,
  isSampled = false,
): readonly Readonly<Record<string, unknown>>[] {
  const lines: string[] = []
  const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
  const { method = 'POST', status = 202, path = SERVERS } = asked
  const exchange = {
    c: { req: { path } },
    work: workContext({ isSampled }),
  }
  logAnswer(log, exchange, { method, status }, location)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('an accepted change has a line with what it is about', () => {
  expect(logged({ path: `${SERVERS}/${ID}/action` })).toMatchObject([
    { msg: 'request answered', request_id: expect.stringMatching(/^req-/), server_id: ID },
  ])
  expect(logged({ path: `${SERVERS}/${ID.toUpperCase()}`, method: 'DELETE' })).toMatchObject([
    { server_id: ID },
  ])
  expect(logged({ path: `/volume/v3/volumes/${ID}/action` })).toMatchObject([{ volume_id: ID }])
  const [other] = logged({ path: `${SERVERS}/${ID}x/action` })
  expect(other).not.toHaveProperty('server_id')
})

test('what was made is named by the address that the answer gives', () => {
  expect(logged({}, `https://cloud.test${SERVERS}/${ID}`)).toMatchObject([{ server_id: ID }])
})

test('reads and refusals have no line', () => {
  expect(logged({ method: 'GET', status: 200 })).toEqual([])
  expect(logged({ status: 409 })).toEqual([])
})

test('a trace is named where one is recorded', () => {
  expect(logged({}, null, true)[0]).not.toHaveProperty('trace_id')
  using _recorder = spanMeasure.listen(() => {})
  const [line] = logged({}, null, true)
  expect(line!['trace_id']).toBe(String(line!['request_id']).slice(4).replaceAll('-', ''))
  expect(logged({})[0]).not.toHaveProperty('trace_id')
})
