import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layoutIn } from '#deploy/deployment/layout.ts'
import { keepBootUnit } from '#deploy/systemd/boot-unit.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { Checkout } from '../env/checkout.ts'

// Goal: the supervisor restarts each program that ends, once, and shows the reason for one that cannot start.

const BACK_LIMIT_MS = 60_000
const PROGRAMS = ['mariadb', 'nats', 'gateway-1', 'cell-north', 'compute-north-1']

let checkout: Checkout

beforeAll(async () => {
  checkout = new Checkout()
  await checkout.succeed('up', '--driver', 'fake', '--cells', '1', '--hosts', '1')
})

afterAll(async () => {
  await checkout?.[Symbol.asyncDispose]()
})

function kill(pid: number | undefined): void {
  process.kill(pid ?? Number.NaN, 'SIGKILL')
}

/** Once every process runs, and this one is not the one it was. */
async function untilBack(name: string, former: number | undefined): Promise<void> {
  const isBack = async () => {
    const now = await checkout.processes()
    return PROGRAMS.every((each) => now.has(each)) && now.get(name) !== former
  }
  await expect.poll(isBack, { timeout: BACK_LIMIT_MS }).toBe(true)
}

/** The long run kills every program. */
const KILLED = isFullRun ? PROGRAMS : ['mariadb', 'gateway-1']

test.each(KILLED)('%s is killed and comes back, and nothing else is touched', async (name) => {
  const before = await checkout.processes()

  kill(before.get(name))
  await untilBack(name, before.get(name))

  const after = await checkout.processes()
  expect(PROGRAMS.filter((each) => after.get(each) !== before.get(each))).toEqual([name])
  expect(await checkout.succeed('status')).toContain(`${name} ended once, last at `)
})

test('a supervisor that is killed is missed, and up starts one that doubles nothing', async () => {
  const before = await checkout.processes()
  kill(checkout.supervisorPid())
  const missing = await checkout.weir('status')
  expect(missing).toMatchObject({ code: 4, stdout: expect.stringContaining('No supervisor runs') })
  const { stdout } = await checkout.weir('doctor')
  expect(stdout).toMatch(/^bad +no supervisor runs/m)
  kill(before.get('nats'))

  await checkout.succeed('up')
  kill((await checkout.processes()).get('nats'))
  // At any moment of its work.
  kill(checkout.supervisorPid())
  await checkout.succeed('up')

  const commands = checkout.left()
  for (const program of ['nats-server -c', 'mariadbd ', 'gateway/main.ts', 'supervisor/main.ts'])
    expect(commands.filter((each) => each.includes(program))).toHaveLength(1)
  await checkout.succeed('status')
})

test('a program that cannot start is tried again, more and more seldom, and shown with its reason', async () => {
  const key = join(checkout.home, 'secrets', 'cell-north.key')
  const good = readFileSync(key, 'utf8')
  writeFileSync(key, 'spoilt')
  const before = await checkout.processes()
  kill(before.get('cell-north'))

  const reason =
    /^cell-north ended \d+ times in a row, last at .*, and is started again at .*CELL_SECRET_KEY: 64 hexadecimal digits are needed/m
  const shown = async (command: string) => (await checkout.weir(command)).stdout
  await expect.poll(() => shown('status'), { timeout: BACK_LIMIT_MS }).toMatch(reason)
  expect(await shown('doctor')).toMatch(/^bad +cell-north ended .*64 hexadecimal digits/m)

  writeFileSync(key, good)
  await untilBack('cell-north', before.get('cell-north'))
})

test('down ends the supervisor too', async () => {
  await checkout.succeed('down')

  expect(checkout.left()).toEqual([])
})

test('the unit that --boot writes brings the deployment up and down, as systemd runs it', async () => {
  const units = join(checkout.home, 'units')
  const file = await keepBootUnit(layoutIn(checkout.home), units)
  const lines = readFileSync(file, 'utf8').split('\n')
  const valuesOf = (key: string) =>
    lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
  const variables = valuesOf('Environment').join(' ')
  // Systemd gives a service no more of its environment than this.
  const run = (key: string) =>
    execFileSync('sh', ['-c', `env -i ${variables} ${valuesOf(key).join()}`], { encoding: 'utf8' })

  run('ExecStart')
  expect([...(await checkout.processes()).keys()]).toEqual(PROGRAMS)
  expect(await checkout.succeed('status')).not.toContain('No supervisor')

  run('ExecStop')
  expect(checkout.left()).toEqual([])
})
