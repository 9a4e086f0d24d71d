import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { BundleFile } from '#gateway/cli/debug/bundle-file.ts'
import type { LogLine } from '#gateway/cli/operator.ts'
import type { Layout } from '../deployment/layout.ts'
import { loadState } from '../deployment/state.ts'
import { examine } from '../doctor/examine.ts'
import { logTail } from '../process/start-process.ts'
import { logPath } from './log-path.ts'
import { processStates } from './process-states.ts'

/** The parts of a status that ask no gateway: the plan, the processes, obstacles, the newest log lines. */
export async function localFiles(layout: Layout): Promise<readonly BundleFile[]> {
  const findings = await examine(layout)
  const doctor = {
    name: 'local/doctor.txt',
    text: findings.map(({ is, what }) => `${is} ${what}\n`).join(''),
  }
  const state = loadState(layout)
  if (state === undefined) return [doctor]
  const processes = await processStates(layout, state)
  const logs = processes
    .map(({ name }) => ({ name, path: logPath(layout, name) }))
    .filter(({ path }) => existsSync(path))
    .map(({ name, path }) => ({ name: `local/logs/${name}.log`, text: logTail(path) }))
  return [
    doctor,
    { name: 'local/state.json', text: JSON.stringify(state) },
    { name: 'local/processes.json', text: JSON.stringify(processes) },
    ...logs,
  ]
}

const LINES_MAX = 1_000
const TIME = /"time":"([^"]{1,40})"/

/** The first thousand lines of the deployment's own programs that hold a text, in the order of their times. */
export async function logLines(layout: Layout, text: string): Promise<readonly LogLine[]> {
  const state = loadState(layout)
  if (state === undefined) return []
  const found: LogLine[] = []
  for (const { name } of await processStates(layout, state)) {
    const path = logPath(layout, name)
    if (!existsSync(path)) continue
    for await (const line of createInterface({ input: createReadStream(path) }))
      if (line.includes(text) && found.length < LINES_MAX) found.push({ process: name, line })
  }
  return found.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
}

function timeOf({ line }: LogLine): string {
  return TIME.exec(line)?.[1] ?? ''
}
