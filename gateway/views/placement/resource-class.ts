export function resourceClassView(name: string) {
  return { name, links: [{ rel: 'self', href: `/placement/resource_classes/${name}` }] }
}
