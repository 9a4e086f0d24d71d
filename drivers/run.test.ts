import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from './run.ts'

const LIMIT = { timeoutMs: 5_000 }

/** Whether the process runs; one that has ended may wait for somebody to notice. */
async function isThere(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return state !== '' && !state.includes(') Z ')
}

describe('run()', () => {
  test('arguments arrive as they are, never through a shell', async () => {
    const args = ['%s|', 'a b', '$(id)', '; rm', "'"]
    expect((await run('printf', args, LIMIT)).stdout).toBe("a b|$(id)|; rm|'|")
  })

  test('a failing command is internal, with its words as detail only', async () => {
    const running = run('sh', ['-c', 'echo secret words >&2; exit 3'], LIMIT)
    await expect(running).rejects.toMatchObject({
      kind: 'internal',
      message: 'The command sh failed.',
      detail: 'exit 3: secret words',
    })
  })

  test('a command reads its input, and may end with the codes that it is allowed', async () => {
    expect(await run('cat', [], { ...LIMIT, input: 'a=b\n' })).toMatchObject({
      stdout: 'a=b\n',
      code: 0,
    })
    expect((await run('cat', [], LIMIT)).stdout).toBe('')
    const unread = { ...LIMIT, input: 'x'.repeat(1024 ** 2), codes: [0, 2] }
    expect((await run('sh', ['-c', 'exit 2'], unread)).code).toBe(2)
    await expect(run('sh', ['-c', 'exit 1'], unread)).rejects.toMatchObject({ kind: 'internal' })
  })

  test('a command that is not there is unsupported', async () => {
    const running = run('weir-no-such-command', [], LIMIT)
    await expect(running).rejects.toMatchObject({ kind: 'unsupported' })
  })

  test('a command that ends with us is killed with the process that runs it, and any other goes on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-run-'))
    const pidOf = (name: string) => readFile(join(folder, name), 'utf8').then(Number, () => 0)
    const script = `import { run } from ${JSON.stringify(new URL('./run.ts', import.meta.url).href)}
      const start = (name, more) =>
        run('sh', ['-c', 'echo $$ >$0; exec sleep 600', ${JSON.stringify(`${folder}/`)} + name], { timeoutMs: 600_000, ...more })
      void start('other', {})
      void start('ours', { endsWithUs: true })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: 'inherit',
    })
    try {
      const pids = () => Promise.all(['ours', 'other'].map(pidOf))
      await expect.poll(async () => (await pids()).every((pid) => pid > 0)).toBe(true)
      const [ours, other] = (await pids()) as [number, number]
      child.kill('SIGKILL')

      await expect.poll(() => isThere(ours)).toBe(false)
      expect(await isThere(other)).toBe(true)
      process.kill(other, 'SIGKILL')
    } finally {
      child.kill('SIGKILL')
      await rm(folder, { recursive: true })
    }
  })

  test('a command that takes too long is killed with its children and unavailable', async () => {
    const running = run('sh', ['-c', 'sleep 600 & sleep 600'], { timeoutMs: 50 })
    await expect(running).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('an abort kills it and throws the reason', async () => {
    const abort = new AbortController()
    const running = run('sleep', ['30'], { ...LIMIT, signal: abort.signal })
    const reason = new Error('enough')

    abort.abort(reason)

    await expect(running).rejects.toBe(reason)
  })

  test('only the newest output is kept', async () => {
    const { stdout } = await run('sh', ['-c', 'yes line | head -n 100000; echo end'], LIMIT)
    expect(stdout.length).toBe(64 * 1024)
    expect(stdout.endsWith('line\nend\n')).toBe(true)
  })

  test('the child gets no variables of our environment unless they are given', async () => {
    expect((await run('env', [], LIMIT)).stdout).toMatch(/^PATH=.*\nLC_ALL=C\n$/)
    expect((await run('env', [], { ...LIMIT, env: { A: '1' } })).stdout).toBe('A=1\n')
  })
})
