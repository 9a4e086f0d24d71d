import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FenceAgent } from './fence-agent.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-agent-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { signal } = new AbortController()
const METADATA = readFileSync(new URL('testing/fence_ipmilan.xml', import.meta.url), 'utf8')
writeFileSync(join(folder, 'metadata.xml'), METADATA)
const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trimEnd().split('\n')

/** A program that notes what it is asked, and then does what the script says; `$action` is the action. */
function agent(script: string, limits = {}): FenceAgent {
  const program = join(folder, 'fence_test')
  const lines = ['#!/bin/sh', `cd ${folder}`, 'cat > asked', `action=$(sed -n s/^action=//p asked)`]
  writeFileSync(program, `${[...lines, script].join('\n')}\n`)
  chmodSync(program, 0o755)
  const parameters = { ip: '192.0.2.7', username: 'weir' }
  const secrets = { password: 'pass word=$(id)' }
  return new FenceAgent({ name: 'fence_test', program, parameters, secrets }, limits)
}

const STATUS = 'if [ $action = status ]; then'

test('a machine is off only when the agent says so after it was powered off', async () => {
  const switched = agent(`
    ${STATUS} if [ -e off ]; then echo Status: OFF; exit 2; else echo Status: ON; exit 0; fi; fi
    touch off; echo Success: Powered OFF`)

  expect(await switched.isOn(signal)).toBe(true)
  await switched.off(signal)
  expect(await switched.isOn(signal)).toBe(false)

  const liar = agent(`${STATUS} echo Status: ON; fi`, { settleMs: 0 })
  await expect(liar.off(signal)).rejects.toMatchObject({
    ...{ kind: 'unavailable', message: 'The machine does not go off.' },
  })
})

test('parameters and secrets are read from its input, as they are', async () => {
  await agent('echo Status: ON; test $# = 0').isOn(signal)

  expect(asked()).toEqual([
    ...['ip=192.0.2.7', 'username=weir', 'password=pass word=$(id)', 'action=status'],
  ])
})

test.each([
  [
    'fails as one that is off does',
    'echo usage: fence_test >&2; exit 2',
    /^It does not say whether/,
  ],
  [
    'ends as one that is on, and says that it is off',
    'echo Status: OFF',
    /^It does not say whether/,
  ],
  ['says nothing', 'exit 1', /^It failed without a word\./],
  [
    'says why',
    `echo '2026-11-28 18:35:53,268 ERROR: Failed: Unable to login' >&2
     echo >&2; echo "2026-11-28 18:35:53,268 ERROR: Please use '-h' for usage" >&2; exit 1`,
    /^Unable to login\.$/,
  ],
  ['crashes', 'echo Traceback >&2; echo KeyError: x >&2; exit 1', /^KeyError: x\.$/],
  [
    'tells its password',
    'echo "2026 ERROR: no login with $(sed -n s/^password=//p asked)" >&2; exit 1',
    /^no login with \*\*\*\.$/,
  ],
  ['says too much', 'printf "%0500d" 7 >&2; exit 1', /^0{200}\.$/],
])('an agent that %s has not said that a machine is off', async (_what, script, says) => {
  const failed = await agent(script)
    .isOn(signal)
    .catch((error: unknown) => error)

  expect(failed).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(says) })
  // Neither is logged.
  expect(failed).not.toHaveProperty('cause')
  expect(failed).toMatchObject({ detail: undefined })
})

test('one that takes too long is ended', async () => {
  const slow = agent('sleep 600', { askMs: 100 })
  await expect(slow.isOn(signal)).rejects.toThrow('It did not end within 0.1 s.')
})

test('one that is not there says so', async () => {
  const settings = { program: join(folder, 'fence_gone'), parameters: {}, secrets: {} }
  const gone = new FenceAgent({ name: 'fence_gone', ...settings })
  await expect(gone.isOn(signal)).rejects.toMatchObject({ kind: 'unsupported' })
  expect(await gone.problem(signal)).toBe('fence_gone is not installed.')
})

test('one that is killed has not said anything', async () => {
  const killed = agent('echo Status: OFF; kill -9 $$').isOn(signal)
  await expect(killed).rejects.toThrow('It was ended, or could not be started.')
})

test('what is wrong with its parameters is found without asking the machine', async () => {
  const metadata = 'if [ $action = metadata ]; then cat metadata.xml; exit 0; fi'
  const known = agent(`${metadata}; test $action = validate-all`)
  expect(await known.problem(signal)).toBeNull()

  const refused = agent(`${metadata}; echo 'x ERROR: Failed: You have to enter plug' >&2; exit 1`)
  expect(await refused.problem(signal)).toBe('You have to enter plug.')

  const unknown = agent(`sed s/username/user/ metadata.xml`)
  expect(await unknown.problem(signal)).toContain('It has no parameter username.')

  const other = agent('echo hello')
  expect(await other.problem(signal)).toMatch(/^Its metadata has no resource-agent/)
})
