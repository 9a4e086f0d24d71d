import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { errorChain, Failure } from '#common/errors.ts'
import { createLogger } from '#common/log.ts'
import { LoginThrottle } from '../app/identity/login-throttle.ts'
import { TooManyRequests } from '../app/request-limiter.ts'
import { KeystoneSignIn } from './keystone-sign-in.ts'

const PASSWORD = 'correct horse'
const LOGIN = { name: 'ann', password: PASSWORD, domain: 'Default' }
const domain = { id: 'default', name: 'Default' }

interface Given {
  readonly statusCode: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: object
}

function scene(answer: () => Given | Promise<Given>) {
  const lines: string[] = []
  const send = async () => {
    const { statusCode, headers = {}, json = {} } = await answer()
    const body = { json: async () => json, dump: async () => undefined }
    return { statusCode, headers, body } as never
  }
  const signIn = new KeystoneSignIn({
    client: { send },
    throttle: new LoginThrottle(systemClock, { failuresMax: 10, windowMs: 60_000 }),
    log: createLogger('test', 'debug', { write: (line) => void lines.push(line) }),
    onRevoked: () => undefined,
  })
  return { signIn: signIn.from('192.0.2.1'), lines }
}

test('a password is in no line of the log and in no failure', async () => {
  const user = { id: 'u1', name: 'ann', domain }
  const json = { token: { expires_at: '2030-01-01T00:00:00Z', user } }
  const { signIn, lines } = scene(() => ({
    statusCode: 201,
    headers: { 'x-subject-token': 't' },
    json,
  }))
  expect(await signIn.byPassword(LOGIN, { isScoped: true })).toMatchObject({ token: 't' })
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toContain(PASSWORD)

  for (const statusCode of [400, 401, 403, 404, 429, 500, 201]) {
    const refused = scene(() => ({ statusCode }))
    const failure = await refused.signIn
      .byPassword(LOGIN, { isScoped: true })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Failure)
    expect(errorChain(failure)).not.toContain(PASSWORD)
    expect(refused.lines).toEqual([])
  }
})

test('what Keystone does not decide about a login is no failed login', async () => {
  let statusCode = 500
  const { signIn } = scene(() => ({ statusCode }))
  const kindOf = async () => {
    const failure = await signIn.byPassword(LOGIN, { isScoped: true }).catch((e: unknown) => e)
    return (failure as Failure).kind
  }
  for (let times = 0; times < 20; times += 1) expect(await kindOf()).toBe('unavailable')
  statusCode = 401
  for (let times = 0; times < 10; times += 1) expect(await kindOf()).toBe('unauthenticated')
  statusCode = 201
  expect(await kindOf()).toBe('unauthenticated')
})

test('so many wait for one account, and no more', async () => {
  const held = Promise.withResolvers<Given>()
  const { signIn } = scene(() => held.promise)
  const asked = Array.from({ length: 55 }, () => signIn.byPassword(LOGIN, { isScoped: true }))
  const failures = Promise.all(asked.map((each) => each.catch((error: unknown) => error)))
  held.resolve({ statusCode: 400 })
  // Four are under way and fifty wait.
  expect((await failures).filter((each) => each instanceof TooManyRequests)).toHaveLength(1)
})
