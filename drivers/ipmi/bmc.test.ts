import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { Bmc } from './bmc.ts'
import type { BmcSettings } from './bmc-settings.ts'
import { controlPower, isPoweredOn, setBootOptions } from './chassis.ts'
import { CIPHER_SUITE_IDS } from './cipher-suites.ts'
import { TestBmc, type TestBmcOptions } from './testing/test-bmc.ts'

const ACCOUNT = { user: 'admin', password: 'twenty bytes, or so.' }
const CHASSIS_STATUS = { netFunction: 0, code: 1 }

describe('a BMC', () => {
  const signal = () => AbortSignal.timeout(15_000)
  const opened: (Bmc | TestBmc)[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).toReversed())
      await (one instanceof Bmc ? one[Symbol.asyncDispose]() : one[Symbol.dispose]())
  })

  const start = async (options: Partial<TestBmcOptions> = {}) => {
    const test = await TestBmc.start({
      suites: CIPHER_SUITE_IDS,
      ...ACCOUNT,
      answer: () => [0, 1, 0, 0],
      ...options,
    })
    opened.push(test)
    return test
  }
  const connect = ({ port }: TestBmc, settings: Partial<BmcSettings> = {}) => {
    const to = { address: '127.0.0.1', port, ...ACCOUNT, privilege: 'administrator' } as const
    const bmc = new Bmc({ ...to, ...settings })
    opened.push(bmc)
    return bmc
  }

  test.each(CIPHER_SUITE_IDS)('is spoken to in cipher suite %i', async (cipherSuite) => {
    const bmc = connect(await start({ suites: [cipherSuite] }))

    expect(await isPoweredOn(bmc, signal())).toBe(true)
  })

  test('of the former cipher suite alone is spoken to in it, unless another is insisted on', async () => {
    const old = await start({ suites: [3] })

    expect(await isPoweredOn(connect(old), signal())).toBe(true)
    await expect(isPoweredOn(connect(old, { cipherSuite: 17 }), signal())).rejects.toMatchObject({
      kind: 'unsupported',
    })
  })

  test.each([
    ['user', { user: 'nobody' }],
    ['password', { password: 'wrong' }],
  ])(
    'that does not know the %s is unavailable, and says why to operators alone',
    async (_, account) => {
      const bmc = connect(await start(), account)

      const error = await isPoweredOn(bmc, signal()).catch((thrown: unknown) => thrown)

      expect(error).toMatchObject({ kind: 'unavailable', message: 'The BMC refused the session.' })
      expect(isFailure(error) && error.detail).toMatch(/user|password/)
    },
  )

  test('answers all commands in one session, and is notified when it ends', async () => {
    const test = await start()
    const bmc = connect(test)

    await Promise.all(Array.from({ length: 70 }, () => bmc.command(CHASSIS_STATUS, signal())))
    expect(test.opened).toBe(1)

    await bmc[Symbol.asyncDispose]()
    expect(test.sessions).toBe(0)
  })

  test('is asked again when datagrams are lost, and carries a repeated datagram out once', async () => {
    const asked: number[] = []
    const test = await start({ answer: ({ number }) => [0, asked.push(number), 0, 0] })
    const bmc = connect(test)
    test.repeats = 2
    test.loses = 1

    await bmc.command(CHASSIS_STATUS, signal())
    test.loses = 1
    const [second] = await bmc.command(CHASSIS_STATUS, signal())

    expect(second).toBe(2)
  })

  test('that was restarted is given a new session', async () => {
    const test = await start()
    const bmc = connect(test)
    await bmc.command(CHASSIS_STATUS, signal())

    test.forgetSessions()
    await Promise.all([1, 2, 3].map(() => bmc.command(CHASSIS_STATUS, signal())))

    expect(test.opened).toBe(2)
  })

  test('that refuses is not asked again', async () => {
    let asked = 0
    const test = await start({ answer: () => [0xc0 + 0 * (asked += 1)] })

    await expect(connect(test).command(CHASSIS_STATUS, signal())).rejects.toMatchObject({
      kind: 'unavailable',
      completion: 0xc0,
    })
    expect(asked).toBe(1)
  })

  test('that does not answer is unavailable within seconds, and at once when the caller gives up', async () => {
    const test = await start()
    test.loses = Number.POSITIVE_INFINITY
    const abort = new AbortController()
    const silent = isPoweredOn(connect(test), signal())
    const aborted = isPoweredOn(connect(test), abort.signal)

    abort.abort(new Error('the caller gave up'))

    await expect(aborted).rejects.toThrow('the caller gave up')
    await expect(silent).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('with a name that does not resolve is unavailable, and says which', async () => {
    const bmc = connect(await start(), { address: 'nowhere.invalid' })

    await expect(isPoweredOn(bmc, signal())).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The BMC has no address.',
      cause: { message: expect.stringContaining('nowhere.invalid') },
    })
  })

  test('is switched, and boots from the requested device', async () => {
    const commands: string[] = []
    const bmc = connect(
      await start({
        answer: ({ code, data }) => {
          commands.push(`${code}: ${data.toString('hex')}`)
          return [0]
        },
      }),
    )

    await setBootOptions(bmc, { device: 'disk', isPersistent: false, usesEfi: true }, signal())
    await controlPower(bmc, 'cycle', signal())

    expect(commands).toEqual(['8: 0308', '8: 05a008000000', '2: 02'])
  })

  test.for(CIPHER_SUITE_IDS)('speaks suite %i as ipmitool does', async (suite, { skip }) => {
    const { port } = await start({ suites: [suite] })
    const who = ['-H', '127.0.0.1', '-p', String(port), '-U', ACCOUNT.user, '-E']
    const args = ['-I', 'lanplus', '-C', String(suite), ...who, 'chassis', 'power', 'status']
    const env = { PATH: '/usr/bin:/bin', IPMI_PASSWORD: ACCOUNT.password }

    const output = await promisify(execFile)('ipmitool', args, { env, timeout: 10_000 }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return skip('ipmitool is not installed')
        throw error
      },
    )

    expect(output.stdout).toContain('Chassis Power is on')
  })
})
