import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { programsDirectory } from '../paths.ts'

/** Debian keeps servers where an ordinary user's PATH does not look. */
const SYSTEM_DIRECTORIES = ['/usr/sbin', '/sbin']
/** Where Debian keeps programs that it chooses among by alternatives, which an unpacked package lacks. */
const PACKAGE_DIRECTORIES = ['/usr/lib/openvswitch-switch']

/** The path of an installed program, or undefined. */
export function programPath(name: string): string | undefined {
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...SYSTEM_DIRECTORIES,
    ...[...SYSTEM_DIRECTORIES, '/usr/bin', ...PACKAGE_DIRECTORIES].map((directory) =>
      join(programsDirectory, directory),
    ),
  ]
  return directories.map((directory) => join(directory, name)).find(isExecutable)
}

/** The path of an installed program; throws `unavailable` saying how to get it. */
export function findProgram(name: string): string {
  const path = programPath(name)
  if (path === undefined)
    throw new Failure(
      'unavailable',
      `${name} is not installed. To list missing packages, run ./weir doctor.`,
    )
  return path
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
