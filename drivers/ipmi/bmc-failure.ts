import { type ErrorKind, Failure } from '#common/errors.ts'

/** Completion codes, IPMI 2.0, table 5-2, that say more than that a command failed. */
export const COMPLETIONS = {
  /** Of an option: the BMC does not have it. */
  unknownOption: 0x80,
  /** The serial console is in use by another session. */
  alreadyActive: 0x80,
  busy: 0xc0,
  invalidCommand: 0xc1,
  timeout: 0xc3,
  outOfSpace: 0xc4,
  reservationLost: 0xc5,
  tooLong: 0xca,
  notPresent: 0xcb,
  invalidField: 0xcc,
  /** The user may not, or not in a session of this privilege. */
  noPrivilege: 0xd4,
  notNow: 0xd5,
} as const

const KINDS: Readonly<Record<number, ErrorKind>> = {
  [COMPLETIONS.busy]: 'unavailable',
  [COMPLETIONS.invalidCommand]: 'unsupported',
  [COMPLETIONS.timeout]: 'unavailable',
  [COMPLETIONS.outOfSpace]: 'unavailable',
  [COMPLETIONS.notPresent]: 'not-found',
  [COMPLETIONS.noPrivilege]: 'forbidden',
  [COMPLETIONS.notNow]: 'conflict',
}

/** A BMC's own refusal of a command. */
export class BmcRefusal extends Failure {
  readonly completion: number

  constructor(command: number, completion: number) {
    super(KINDS[completion] ?? 'internal', messageOf(completion), {
      detail: `command 0x${command.toString(16)}: completion code 0x${completion.toString(16)}`,
    })
    this.completion = completion
  }
}

function messageOf(completion: number): string {
  if (completion === COMPLETIONS.noPrivilege)
    return 'The BMC does not let its user do this: it needs more privilege.'
  return 'The BMC refused a command.'
}

/** True for a refusal with one of these completion codes. */
export function isRefusal(error: unknown, ...completions: readonly number[]): boolean {
  return error instanceof BmcRefusal && completions.includes(error.completion)
}
