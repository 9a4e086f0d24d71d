import { type ResolveFnOutput, registerHooks } from 'node:module'

const ROOT = new URL('../', import.meta.url).href
const PACKAGES = '/node_modules/'
const DRIZZLE = '/node_modules/drizzle-orm/'
/** The ending says what it is: typebox has several hundred of them. */
const ES_MODULE = '.mjs'

/**
 * Afterwards modules of this project and of drizzle-orm import each other without being looked up, and so do those of
 * packages whose names say what they are; packages are looked up once. Where a path leads is plain, and `#folder/` is the
 * folder of that name. Node otherwise reads the package.json that governs a module at each of its imports, several
 * thousand times; drizzle's has 180 KB. That was most of what a program's start cost, and 150 MiB. Must be called before
 * any of them is imported.
 */
export function installFastResolver(): void {
  /** From anywhere in the project a package's name means the same. */
  const packages = new Map<string, ResolveFnOutput>()
  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = '' } = context
      const isRelative = specifier.startsWith('.')
      if (isRelative && (parentURL.includes(DRIZZLE) || specifier.endsWith(ES_MODULE)))
        return found(new URL(specifier, parentURL).href, 'module')
      const isOurs = parentURL.startsWith(ROOT) && !parentURL.includes(PACKAGES)
      if (!isOurs) return next(specifier, context)
      if (isRelative) return found(new URL(specifier, parentURL).href, 'module-typescript')
      if (specifier.startsWith('#')) return found(ROOT + specifier.slice(1), 'module-typescript')
      const known = packages.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
      packages.set(specifier, known)
      return known
    },
  })
}

function found(url: string, format: 'module' | 'module-typescript'): ResolveFnOutput {
  return { url, format, shortCircuit: true }
}
