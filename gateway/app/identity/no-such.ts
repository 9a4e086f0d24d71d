import { Failure } from '#common/errors.ts'

/** In Keystone's words, which clients show as they are. */
export function noSuch(what: string, id: string): Failure {
  return new Failure('not-found', `Could not find ${what}: ${id}.`)
}
