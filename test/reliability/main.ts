import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printLine, progress } from '../bench/terminal.ts'
import { prepareMachine } from './deployment/machine.ts'
import { type Options, parseOptions } from './options.ts'
import { report } from './report.ts'
import { run } from './run.ts'

/** Set in the process that runs inside namespaces of its own. */
const FOLDER = 'RELIABILITY_FOLDER'
/** It ends with this process, however that ends. */
const WITH_PARENT = ['--pdeathsig', 'KILL', '--'] as const
/**
 * A mount namespace for the disk that is filled; one of processes, so that all that is started ends with its first one;
 * and one of the network, so that nothing else on the machine takes a port while its server is killed.
 */
const INSIDE = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--net'] as const
/** The loopback of a new namespace is down. */
const WITH_LOOPBACK = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh'] as const

const options = parseOptions(process.argv.slice(2))
const folder = process.env[FOLDER]
process.exitCode = await (folder === undefined ? outside(options) : inside(options, folder))

async function inside(options: Options, folder: string): Promise<number> {
  const { figures, problems } = await run(options, folder, progress)
  for (const line of [...report(figures), ...problems]) printLine(line)
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`)
  // What was started runs until the namespace ends, which is with this process.
  process.exit(problems.length === 0 ? 0 : 1)
}

async function outside({ minutes, seed, projects, json }: Options): Promise<number> {
  // Inside nothing can be downloaded.
  await prepareMachine(progress)
  const folder = mkdtempSync(join(tmpdir(), 'weir-reliability-'))
  const args = [
    '--minutes',
    String(minutes),
    '--seed',
    String(seed),
    '--projects',
    String(projects),
  ]
  printLine(`Seed ${seed}`)
  const child = spawn(
    'setpriv',
    [
      ...WITH_PARENT,
      'unshare',
      ...INSIDE,
      ...WITH_LOOPBACK,
      process.execPath,
      import.meta.filename,
      ...args,
      ...(json === undefined ? [] : ['--json', json]),
    ],
    { stdio: 'inherit', env: { ...process.env, [FOLDER]: folder } },
  )
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => child.kill('SIGKILL'))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === 0) rmSync(folder, { recursive: true, force: true })
  else {
    printLine(`Every request, its answer and all logs are in ${folder}`)
    printLine(`Again with the same choices: npm run faults -- ${args.join(' ')}`)
  }
  return code ?? 1
}
