import { Failure } from '#common/errors.ts'
import { OTEL_PREFIX, traceExportFromEnv } from '#common/trace/settings.ts'

/** Settings of the programs of a deployment, by name, that an operator has chosen. */
export type ProgramSettings = Readonly<Record<string, string>>

const ASSIGNMENT = /^([A-Z][A-Z0-9_]*)=([^]*)$/

interface ProgramKind {
  readonly prefix: string
  readonly check: (env: ProgramSettings) => Promise<unknown>
}

/** How each kind of program reads its settings; loaded only where there are any to check. */
const KINDS: readonly ProgramKind[] = [
  {
    prefix: 'GATEWAY_',
    check: async (env) => (await import('#gateway/config.ts')).configFromEnv(env),
  },
  {
    prefix: 'COMPUTE_',
    check: async (env) => (await import('#cells/compute/config.ts')).configFromEnv(env),
  },
  { prefix: 'CELL_', check: async (env) => (await import('#cells/config.ts')).configFromEnv(env) },
  { prefix: OTEL_PREFIX, check: (env) => Promise.resolve(traceExportFromEnv(env, true)) },
]

/**
 * The settings after `NAME=VALUE` each; an empty value removes the setting, so that the program's own default is
 * back. Throws `invalid` naming settings that no program knows, values that a program would not take, and malformed
 * text.
 */
export async function changedSettings(
  before: ProgramSettings,
  assignments: readonly string[],
): Promise<ProgramSettings> {
  const given = assignments.map((text) => {
    const [, name, value] = ASSIGNMENT.exec(text) ?? []
    if (name === undefined || value === undefined)
      throw new Failure(
        'invalid',
        `--set ${text}: give NAME=VALUE, as in docs/reference/settings.md.`,
      )
    return [name, value] as const
  })
  const all = Object.entries({ ...before, ...Object.fromEntries(given) })
  const after = Object.fromEntries(all.filter(([, value]) => value !== ''))
  const wrong = (await Promise.all(given.map(([name]) => problemsWith(name, after)))).flat()
  if (wrong.length > 0)
    throw new Failure(
      'invalid',
      `--set: ${[...new Set(wrong)].join('; ')} (docs/reference/settings.md has them all)`,
    )
  return after
}

/**
 * The settings of a program that operators chose, those that every program reads included, beside those that the
 * deployment sets. Throws `invalid` for the latter.
 */
export function settingsFor(
  prefix: string,
  chosen: ProgramSettings = {},
  fixed: ProgramSettings,
): ProgramSettings {
  const own = Object.entries(chosen).filter(
    ([name]) => name.startsWith(prefix) || name.startsWith(OTEL_PREFIX),
  )
  const [taken] = own.find(([name]) => Object.hasOwn(fixed, name)) ?? []
  if (taken !== undefined)
    throw new Failure(
      'invalid',
      `The deployment sets ${taken} itself. Remove your setting: ./weir up --set ${taken}=`,
    )
  return { ...fixed, ...Object.fromEntries(own) }
}

async function problemsWith(name: string, settings: ProgramSettings): Promise<readonly string[]> {
  const kind = KINDS.find(({ prefix }) => name.startsWith(prefix))
  if (kind === undefined)
    return [`${name}: settings begin with ${KINDS.map(({ prefix }) => prefix).join(', ')}`]
  const own = Object.entries(settings).filter(([each]) => each.startsWith(kind.prefix))
  try {
    await kind.check(Object.fromEntries(own))
    return []
  } catch (error) {
    // Settings not set here are set by the deployment.
    const lines = String((error as Error).message).split('\n')
    const isAbout = new Set([`${name}:`, name])
    return lines
      .map((line) => line.trim())
      .filter((line) => isAbout.has(line.split(' ')[0] ?? '') && !line.endsWith(' is not set'))
  }
}
