import type { ProjectShown, Relatives } from '#openapi/identity.gen.ts'
import type { Project } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import { projectView } from './project.ts'

/** Which relatives are asked for, and how. */
export interface RelativesAsked {
  readonly parents: 'list' | 'ids' | undefined
  readonly subtree: 'list' | 'ids' | undefined
}

/** The projects above and below one, as lists of projects or as ids nested in each other. */
export function relativesView(
  project: Project,
  { above, below }: { readonly above: readonly Project[]; readonly below: readonly Project[] },
  { parents, subtree }: RelativesAsked,
  links: Links,
): Pick<ProjectShown, 'parents' | 'subtree'> {
  const listOf = (all: readonly Project[]) => all.map((it) => ({ project: projectView(it, links) }))
  return {
    ...(parents !== undefined && {
      parents: parents === 'list' ? listOf(above) : idsAbove(project),
    }),
    ...(subtree !== undefined && {
      subtree: subtree === 'list' ? listOf(below) : idsBelow(project.id, below),
    }),
  }
}

/** The nearest outermost, the domain innermost. */
function idsAbove({ ancestors, domain }: Project): Relatives {
  return [domain.id, ...ancestors].reduce<Relatives>((inner, id) => ({ [id]: inner }), null)
}

function idsBelow(id: string, all: readonly Project[]): Relatives {
  const children = all.filter(({ parentId }) => parentId === id)
  if (children.length === 0) return null
  return Object.fromEntries(children.map((child) => [child.id, idsBelow(child.id, all)]))
}
