import { programPath } from '#deploy/process/find-program.ts'

/** Why real guests cannot run here; undefined when they can. With CI set, a reason is an error instead. */
export function whyNoGuests(commands: readonly string[]): string | undefined {
  const why = process.getuid?.() === 0 ? missingCommand(commands) : 'not root'
  if (why !== undefined && process.env['CI'] === 'true')
    throw new Error(`Real guests must run in CI, but: ${why}`)
  return why
}

function missingCommand(commands: readonly string[]): string | undefined {
  const missing = commands.filter((name) => programPath(name) === undefined)
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}
