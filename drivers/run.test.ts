import { describe, expect, test } from 'vitest'
import { run } from './run.ts'

const LIMIT = { timeoutMs: 5_000 }

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
