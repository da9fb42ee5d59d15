// SPDX-License-Identifier: GPL-2.0
// crashesxx WHAT: crash in the way WHAT, in C++. See crashes.c.
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE	__attribute__((noinline, noclone))

namespace shop {

struct error : std::runtime_error {
	using std::runtime_error::runtime_error;
};

class basket {
public:
	NOINLINE void add(const std::string &what, int n) { items[what] += n; }

	NOINLINE int take(const std::string &what)
	{
		auto found = items.find(what);

		if (found == items.end())
			throw error("there is no " + what);	/* cause throw */
		return found->second;
	}

	NOINLINE int at(const std::vector<int> &list, size_t i)
	{
		return list.at(i);	/* cause at */
	}

private:
	std::map<std::string, int> items;
};

}

NOINLINE static void throws()
{
	shop::basket b;
	const char *const names[] = { "apple", "pear", "plum" };

	for (int i = 0; i < 30; i++)
		b.add(names[i % 3], i);
	try {
		b.take("cherry");
	} catch (const shop::error &) {
		b.add("cherry", 1);
	}
	printf("%d\n", b.take("cherry"));
	b.take("melon");
}

NOINLINE static void beyond()
{
	shop::basket b;
	std::vector<int> list;
	int sum = 0;

	for (int i = 0; i < 10; i++)
		list.push_back(i);
	for (size_t i = 0; i <= list.size(); i++)
		sum += b.at(list, i);
	printf("%d\n", sum);
}

struct shape {
	virtual ~shape() {}
	virtual int area() = 0;
	NOINLINE int twice() { return area() * 2; }
	NOINLINE shape() { if (early) twice(); }	/* cause pure */
	static bool early;
};

bool shape::early;

struct square : shape {
	int area() override { return 4; }
};

NOINLINE static void calls_pure()
{
	square first;

	printf("%d\n", first.twice());
	shape::early = true;
	square second;
}

NOINLINE static void fails()
{
	throw 7;	/* cause noexcept */
}

NOINLINE static void quiet() noexcept
{
	fails();
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "throw"))
		throws();
	else if (!strcmp(what, "at"))
		beyond();
	else if (!strcmp(what, "pure"))
		calls_pure();
	else if (!strcmp(what, "noexcept"))
		quiet();
	else
		return 99;
	return 0;
}
