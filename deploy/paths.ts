import { join, resolve } from 'node:path'

/** The checkout this file lies in. */
export const projectRoot = resolve(import.meta.dirname, '..')

/** Everything Weir writes on this machine, unless WEIR_HOME names another folder. */
export const homeDirectory = resolve(process.env['WEIR_HOME'] ?? join(projectRoot, '.weir'))

/** Debian packages unpacked for this checkout only. */
export const programsDirectory = join(projectRoot, '.weir', 'programs')

/** Guest images built for this checkout. */
export const guestDirectory = join(projectRoot, '.weir', 'guest')

/** What compilers made for this checkout, so that the next run need not. */
export const compiledDirectory = join(projectRoot, '.weir', 'compiled')
