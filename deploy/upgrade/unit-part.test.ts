import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unitState } from './systemd.ts'
import { UnitPart } from './unit-part.ts'

// Goal: an upgrade takes the process that systemd starts for the new one, and only its end for a sign of trouble.

const UNIT = 'weir-cell@north.service'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'weir-systemctl-'))
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH']}`)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(directory, { recursive: true })
})

interface Shown {
  readonly active: string
  readonly pid: number
  readonly job?: number
  readonly restarts?: number
}

/**
 * A systemctl that shows a unit which ends again and again until it is restarted, and after that one state after the
 * other, the last for good. `endsWhenRestarted`: how often it has ended by itself when the restart is asked for.
 */
function systemctl(before: Shown, after: readonly Shown[], endsWhenRestarted = 0): void {
  const text = ({ active, pid, job = 0, restarts = 0 }: Shown) =>
    `ActiveState=${active}\nMainPID=${pid}\nJob=${job === 0 ? '' : job}\nNRestarts=${restarts}\n`
  for (const [nth, shown] of [before, ...after].entries())
    writeFileSync(join(directory, `state-${nth}`), text(shown))
  const script = `#!/bin/sh
cd ${directory}
case "$2" in
  restart)
    echo 1 > nth
    echo ${endsWhenRestarted} > ends ;;
  reset-failed)
    echo 0 > ends ;;
  show)
    nth=$(cat nth 2>/dev/null || echo 0)
    ends=$(cat ends 2>/dev/null || echo 0)
    sed "s/NRestarts=0/NRestarts=$ends/" state-$nth
    if [ "$nth" != 0 ] && [ "$nth" -lt ${after.length} ]; then echo $((nth + 1)) > nth; fi ;;
esac
`
  const file = join(directory, 'systemctl')
  writeFileSync(file, script)
  chmodSync(file, 0o755)
}

async function restarted(): Promise<UnitPart> {
  const part = new UnitPart(UNIT, 'cell', await unitState(UNIT), undefined)
  await part.replace()
  return part
}

test('a process that systemd is about to stop is not taken for the new one', async () => {
  systemctl({ active: 'activating', pid: 0 }, [
    { active: 'active', pid: 10, job: 5 },
    { active: 'deactivating', pid: 10, job: 5 },
    { active: 'activating', pid: 11, job: 5 },
    { active: 'active', pid: 11 },
  ])

  const part = await restarted()

  await expect(part.assertRuns()).resolves.toBeUndefined()
})

test('what ended before the restart is no sign of trouble', async () => {
  systemctl({ active: 'activating', pid: 0 }, [{ active: 'active', pid: 11 }], 1)

  await expect(restarted()).resolves.toBeInstanceOf(UnitPart)
})

test('a new process that ends by itself is', async () => {
  systemctl({ active: 'active', pid: 10 }, [
    { active: 'activating', pid: 11, job: 5 },
    { active: 'activating', pid: 0, restarts: 1 },
  ])

  await expect(restarted()).rejects.toThrow('weir-cell@north ended by itself')
})
