import { readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { SettingsError } from '#common/env.ts'
import { ifAbsent } from '#common/if-absent.ts'
import { checkedSettings, type SettingsPlace } from '#common/settings-file.ts'
import type { FenceAgentSettings } from '#drivers/fence-agents/fence-agent.ts'
import type { PacemakerSettings } from '#drivers/fence-agents/pacemaker.ts'

const PARAMETER = '^[a-z][a-z0-9_-]{0,63}$'
const LINE = /^[^\r\n\0]{1,4096}$/v

const Agent = Type.Object(
  {
    // Of one directory: no path, and no other program.
    agent: Type.String({ pattern: '^fence_[a-z0-9_]{1,60}$' }),
    parameters: Type.Optional(
      Type.Record(Type.String({ pattern: PARAMETER }), Type.String({ pattern: LINE.source }), {
        additionalProperties: false,
      }),
    ),
    password_file: Type.Optional(Type.String({ minLength: 1 })),
    parameter_files: Type.Optional(
      Type.Record(Type.String({ pattern: PARAMETER }), Type.String({ minLength: 1 }), {
        additionalProperties: false,
      }),
    ),
  },
  { additionalProperties: false },
)

const PacemakerNode = Type.Object(
  // It becomes an argument of a program.
  { pacemaker: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$' }) },
  { additionalProperties: false },
)

const OF_PASSWORD = 'is read by all who read this file: name a file in password_file'
const OF_PROGRAM = 'would have the agent run another program'
const OF_OUTPUT = 'would have the agent write what it is told, such as the password'
/** Parameters that are not for operators to give, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  action: 'is given by the cell',
  option: 'is given by the cell',
  passwd: OF_PASSWORD,
  password: OF_PASSWORD,
  passwd_script: OF_PROGRAM,
  password_script: OF_PROGRAM,
  debug: OF_OUTPUT,
  debug_file: OF_OUTPUT,
  verbose: OF_OUTPUT,
  verbose_level: OF_OUTPUT,
  help: 'has the agent do nothing',
  version: 'has the agent do nothing',
}

/** Of a device in the file at `place`. Throws `SettingsError`, which names each wrong value. */
export function readAgent(
  place: SettingsPlace,
  content: unknown,
  directory: string,
): FenceAgentSettings {
  const { agent: name, parameters = {}, ...files } = checkedSettings(place, Agent, content)
  const { password_file, parameter_files = {} } = files
  const secretFiles = { ...parameter_files, ...(password_file && { password: password_file }) }
  const problems = [
    ...Object.entries(parameters).flatMap(([key, value]) => refusalOf(key, value)),
    ...Object.keys(parameter_files).flatMap((key) =>
      REFUSED[key] === OF_PASSWORD ? [] : refusalOf(key),
    ),
    ...Object.keys(parameters)
      .filter((key) => key in secretFiles)
      .map((key) => `parameter ${key} is given twice`),
  ]
  if (problems.length > 0) throw wrong(place, problems)
  const secrets = Object.entries(secretFiles).map(([key, file]) => [key, secretIn(place, file)])
  const program = programOf(place, name, directory)
  return { name, program, parameters, secrets: Object.fromEntries(secrets) }
}

/** Of a device in the file at `place`. Throws `SettingsError`, which names each wrong value. */
export function readPacemaker(
  place: SettingsPlace,
  content: unknown,
  directory: string,
): PacemakerSettings {
  const { pacemaker: node } = checkedSettings(place, PacemakerNode, content)
  return { node, program: programOf(place, 'stonith_admin', directory) }
}

function refusalOf(key: string, value?: string): readonly string[] {
  if (key === 'method' && value !== 'onoff')
    return [`parameter method must be onoff: after ${value} the machine is on`]
  const why = REFUSED[key] ?? (key.endsWith('_path') ? OF_PROGRAM : undefined)
  return why === undefined ? [] : [`parameter ${key} ${why}`]
}

function secretIn(place: SettingsPlace, file: string): string {
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw wrong(place, [String(error)])
  }
  if (LINE.test(secret)) return secret
  throw wrong(place, [`${file} has to be one line, of at most 4096 characters`])
}

/** Debian's, of programs that are no agents. */
const PACKAGES: Readonly<Record<string, string>> = { stonith_admin: 'pacemaker-cli-utils' }

/** The cell runs it with its own rights, so nobody else may have written it. */
function programOf(place: SettingsPlace, name: string, directory: string): string {
  const program = join(directory, name)
  const found = statOf(program)
  if (found?.isFile() !== true)
    throw wrong(place, [
      `${name} is not in ${directory}: install the package that has it, such as ${PACKAGES[name] ?? 'fence-agents'}`,
    ])
  const open = [directory, program].filter((path) => isOpen(statSync(path)))
  if (open.length === 0) return program
  throw wrong(place, [
    `${open.join(' and ')} can be written by others: the owner must be root, and no group or others may write`,
  ])
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    return ifAbsent(undefined)(error)
  }
}

const WRITABLE_BY_OTHERS = 0o022

function isOpen({ uid, mode }: Stats): boolean {
  return (uid !== 0 && uid !== process.getuid?.()) || (mode & WRITABLE_BY_OTHERS) !== 0
}

function wrong({ setting, file, at }: SettingsPlace, problems: readonly string[]): SettingsError {
  return new SettingsError(problems.map((problem) => `${setting}: ${file}: ${at} ${problem}.`))
}
